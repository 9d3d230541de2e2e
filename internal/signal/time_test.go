package signal_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	ok := func(text string, want int64) {
		t.Helper()
		got, err := signal.ParseTime([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	ok("1741600000", 1741600000_000000000)
	ok("1741600000.123456789", 1741600000_123456789)
	ok("1741600000.1234567899", 1741600000_123456789)
	ok("1741600000123.5", 1741600000_123500000)
	ok("1741600000123456", 1741600000_123456000)
	ok("1741600000123456789", 1741600000_123456789)
	ok("1.7416e9", 1741600000_000000000)
	ok("0", 0)
	ok("00", 0)
	ok("-1.5", -1_500000000)
	ok("9000000000", 9000000000_000000000)
	ok("100000000000", 100000000_000000000) // the first millisecond count
	day := time.Date(2024, 7, 29, 14, 57, 14, 415002000, time.UTC).UnixNano()
	ok("2024-07-29 14:57:14.415002", day)
	ok("2024-07-29T14:57:14.415002", day)
	ok("2024-07-29T14:57:14.415002z", day)
	ok("2024-07-29T14:57:14.415002+08:00", day-8*3600e9)
	ok("2024-07-29T14:57:14.415002-0330", day+3.5*3600e9)
	ok("2016-12-31T23:59:60Z", time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	ok("2017-01-01T07:59:60+08:00", time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
}

func TestParseTimeRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "x", "2024-02-30T00:00:00Z", "2024-13-01T00:00:00Z", "2024-07-29T24:00:00Z", "2024-07-29T12:00:60Z", "2024-07-29",
		"2024-07-29T14:57:14.Z", "2024-07-29T14:57:14+24:00", "1e400",
		"99999999999", "99999999999999999999", "1.2.3", "--1", "1e", "9999-01-01T00:00:00Z", "null",
	} {
		_, err := signal.ParseTime([]byte(text))
		require.True(t, fault.Is(err, fault.Invalid), "%q: %v", text, err)
	}
}

func TestParseTimeKnowsTheCalendar(t *testing.T) {
	t.Parallel()
	for day := time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2262; day = day.AddDate(0, 0, 1) {
		got, err := signal.ParseTime([]byte(day.Format(time.RFC3339)))
		require.NoError(t, err)
		require.Equal(t, day.UnixNano(), got)
		if last := day.AddDate(0, 0, 1); last.Month() != day.Month() {
			_, err := signal.ParseTime([]byte(day.Format("2006-01-") + fmt.Sprint(day.Day()+1) + "T00:00:00Z"))
			require.Error(t, err, day)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"1741600000.123456789", "2024-07-29T14:57:14-0330", "1.7416e9", "-5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := signal.ParseTime([]byte(text))
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		// A nanosecond count that ParseTime gave is read back as itself when it is large enough to be one.
		if got >= 1e17 {
			again, err := signal.ParseTime([]byte(big.NewInt(got).String()))
			require.NoError(t, err)
			require.Equal(t, got, again)
		}
	})
}
