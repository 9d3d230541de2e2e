package fairqueue

import (
	"math"
	"time"
)

// halfLife is the time in which past use loses half of its weight.
const halfLife = 30 * time.Second

// maxEpoch is how long numbers are kept in the units of one moment before they are converted to another's: they grow to 2^16 of it.
const maxEpoch = 16 * halfLife

// forgetBelow is the use, in slot-seconds, that is as good as none.
const forgetBelow = 0.01

// ages converts between use at one moment and use at another. Numbers are kept in units of the epoch's start: a slot-second used later
// counts for more of them, which is the same as that all older ones shrink, and lets lines be compared without touching them.
type ages struct{ epoch time.Time }

// growth is how many units one slot-second is worth at now.
func (a ages) growth(now time.Time) float64 {
	return math.Exp2(now.Sub(a.epoch).Seconds() / halfLife.Seconds())
}

// held is how many units a slot that was held from the start of the epoch until now is worth: the integral of growth.
func (a ages) held(now time.Time) float64 {
	return halfLife.Seconds() / math.Ln2 * (a.growth(now) - 1)
}

// use is the slot-seconds that an org has used, divided by its weight. At any time they are base + load × held(now): the part that
// is true of a moment, so that only changes of the load need work.
type use struct{ base float64 }

// at returns the use in units of the epoch.
func (u use) at(a ages, now time.Time, load float64) float64 { return u.base + load*a.held(now) }

// set makes u what is value at now, in units of the epoch, under a load from now on.
func (u *use) set(a ages, now time.Time, load, value float64) { u.base = value - load*a.held(now) }
