package audios3

// NewWithIdleTimeout is New with another time limit of idle connections.
var NewWithIdleTimeout = newStore
