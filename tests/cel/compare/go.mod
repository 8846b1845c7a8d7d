module compare

go 1.26.0

require (
	cel.dev/expr v0.25.3
	google.golang.org/protobuf v1.36.12-0.20260120151049-f2248ac996af
)
