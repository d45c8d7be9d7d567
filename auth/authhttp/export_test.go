package authhttp

// Answers that tests decode.
type (
	DeviceStarted = deviceStarted
	DeviceAsking  = deviceAsking
	SessionList   = sessionList
	SessionItem   = sessionItem
)
