package summary

// ErrNoText is returned for transcripts without a single word. Its method
// Permanent reports true.
var ErrNoText error = noText{}

type noText struct{}

func (noText) Error() string   { return "summarize: the transcripts hold no words" }
func (noText) Permanent() bool { return true }
