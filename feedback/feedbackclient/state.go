package feedbackclient

import (
	"context"
	"net/http"
)

// Health is the state of the server. What is for operators is empty for others.
type Health struct {
	Status   string `json:"status"`  // ok or degraded
	Version  string `json:"version"` // for operators
	Database struct {
		Configured    bool   `json:"configured"`
		Reachable     bool   `json:"reachable"`
		Migrated      bool   `json:"migrated"`
		Engine        string `json:"engine"` // postgres or sqlite; for operators
		PoolerMisused bool   `json:"pooler_misused"`
	} `json:"database"`
	Speech struct {
		Provider  string `json:"provider"`
		Available bool   `json:"available"`
		Model     string `json:"model"`  // for operators
		Detail    string `json:"detail"` // for operators
	} `json:"speech"`
	Queue *struct { // for operators
		Waiting int `json:"waiting"`
		Running int `json:"running"`
		Failed  int `json:"failed"`
		// Paused are the queues whose jobs wait until an operator resumes them.
		Paused []string `json:"paused"`
		// AgeSeconds is how long ago the jobs were counted.
		AgeSeconds float64 `json:"age_seconds"`
	} `json:"queue"`
	Storage *struct { // for operators
		FreeBytes    int64 `json:"free_bytes"`
		TotalBytes   int64 `json:"total_bytes"`
		ReserveBytes int64 `json:"reserve_bytes"`

		Detail string `json:"detail"` // why uploads are refused
	} `json:"storage"`
	SpeechAvailable        bool `json:"speech_available"`
	StorageAvailable       bool `json:"storage_available"`
	MiniappAuthConfigured  bool `json:"miniapp_auth_configured"`
	DevelopmentAuthEnabled bool `json:"development_auth_enabled"`
	DeviceAuthEnabled      bool `json:"device_auth_enabled"`

	OAuthName string `json:"oauth_name"` // where teachers sign in to the page, or ""
}

// Health returns the server's state.
func (c Client) Health(ctx context.Context) (h Health, err error) {
	return h, c.Call(ctx, http.MethodGet, "/health", nil, &h)
}

// Ready returns nil if the server can take requests. It does not wait until it can.
func (c Client) Ready(ctx context.Context) error {
	c.MaxRetries = 0
	return c.Call(ctx, http.MethodGet, "/readyz", nil, nil)
}
