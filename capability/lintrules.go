package capability

var lintRules = [...]Rule{}
