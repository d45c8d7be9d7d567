package server

import (
	"fmt"
	"log/slog"

	"lessonkit.example/auth"
	"lessonkit.example/auth/miniapp"
)

// newAccounts returns the service that signs teachers in.
func newAccounts(c Config, store auth.Store, log *slog.Logger) (*auth.Service, error) {
	config := auth.Config{
		Store:            store,
		AllowDevelopment: c.DevelopmentSignIn(),
		Logger:           log,
	}
	if c.MiniappConfigured() {
		platform, err := miniapp.New(miniapp.Config{
			AppID:    c.MiniappAppID,
			Secret:   c.MiniappAppSecret,
			Endpoint: c.MiniappAPIURL,
		})
		if err != nil {
			return nil, fmt.Errorf("MINIAPP_API_URL: %w", err)
		}
		config.Exchanger = platform
	}
	return auth.New(config)
}
