// Names what the conformance tests are made of, so that go.mod and go.sum have all that it needs; the programs are tools of go.mod.
package main

import _ "k8s.io/kubernetes/test/e2e"

func main() {}
