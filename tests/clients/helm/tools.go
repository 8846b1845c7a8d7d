//go:build tools

// Pins Helm's own program as a dependency; it is built as it is, from its public module.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
