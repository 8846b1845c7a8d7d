//go:build tools

// Pins the external attacher's own program as a dependency; it is built as it is, from its public module.
package tools

import _ "github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher"
