package config

import (
	"time"

	"github.com/millstream/millstream/internal/bytesize"
)

const (
	kib = bytesize.KiB
	mib = bytesize.MiB
	gib = bytesize.GiB
	day = 24 * time.Hour
)
