"use strict";
if (window.Scalar) {
  Scalar.createApiReference("#reference", {
    url: "openapi.json",
    withDefaultFonts: false, // they are on another origin
    telemetry: false,
    hideClientButton: true,
    showDeveloperTools: "never",
    agent: { disabled: true },
    mcp: { disabled: true },
    metaData: { title: document.title },
  });
} else {
  location.replace("?swagger-ui"); // the script did not load
}
