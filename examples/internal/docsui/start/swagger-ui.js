"use strict";
const ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null, // it is on another origin
  onComplete: () => {
    // Scalar prefills credentials by this extension itself.
    ui.specSelectors.securityDefinitions()?.forEach((scheme, name) => {
      const value = scheme.get("x-scalar-secret-token");
      if (value) ui.preauthorizeApiKey(name, value);
    });
  },
});
