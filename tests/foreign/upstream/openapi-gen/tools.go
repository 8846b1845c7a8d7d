//go:build tools

package tools

import _ "k8s.io/kube-openapi/cmd/openapi-gen"
