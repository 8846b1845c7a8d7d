module porthole.test/shell

go 1.26.0

tool (
	github.com/benhoyt/goawk
	github.com/u-root/u-root/cmds/core/base64
	github.com/u-root/u-root/cmds/core/basename
	github.com/u-root/u-root/cmds/core/cat
	github.com/u-root/u-root/cmds/core/chmod
	github.com/u-root/u-root/cmds/core/cmp
	github.com/u-root/u-root/cmds/core/cp
	github.com/u-root/u-root/cmds/core/date
	github.com/u-root/u-root/cmds/core/dd
	github.com/u-root/u-root/cmds/core/dirname
	github.com/u-root/u-root/cmds/core/echo
	github.com/u-root/u-root/cmds/core/false
	github.com/u-root/u-root/cmds/core/find
	github.com/u-root/u-root/cmds/core/grep
	github.com/u-root/u-root/cmds/core/head
	github.com/u-root/u-root/cmds/core/ln
	github.com/u-root/u-root/cmds/core/ls
	github.com/u-root/u-root/cmds/core/md5sum
	github.com/u-root/u-root/cmds/core/mkdir
	github.com/u-root/u-root/cmds/core/mktemp
	github.com/u-root/u-root/cmds/core/printenv
	github.com/u-root/u-root/cmds/core/pwd
	github.com/u-root/u-root/cmds/core/rm
	github.com/u-root/u-root/cmds/core/seq
	github.com/u-root/u-root/cmds/core/shasum
	github.com/u-root/u-root/cmds/core/sleep
	github.com/u-root/u-root/cmds/core/sort
	github.com/u-root/u-root/cmds/core/strings
	github.com/u-root/u-root/cmds/core/tail
	github.com/u-root/u-root/cmds/core/tar
	github.com/u-root/u-root/cmds/core/tee
	github.com/u-root/u-root/cmds/core/time
	github.com/u-root/u-root/cmds/core/touch
	github.com/u-root/u-root/cmds/core/tr
	github.com/u-root/u-root/cmds/core/true
	github.com/u-root/u-root/cmds/core/truncate
	github.com/u-root/u-root/cmds/core/uniq
	github.com/u-root/u-root/cmds/core/wc
	github.com/u-root/u-root/cmds/core/which
	github.com/u-root/u-root/cmds/core/xargs
	github.com/u-root/u-root/cmds/core/yes
)

require mvdan.cc/sh/v3 v3.14.1

require (
	github.com/benhoyt/goawk v1.29.1 // indirect
	github.com/cenkalti/backoff/v4 v4.1.3 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/pierrec/lz4/v4 v4.1.22 // indirect
	github.com/rck/unit v0.0.3 // indirect
	github.com/u-root/cpuid v0.0.1-0.20250320140348-cc5fe81d966c // indirect
	github.com/u-root/u-root v0.16.0 // indirect
	github.com/u-root/uio v0.0.0-20240224005618-d2acac8f3701 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/term v0.45.0 // indirect
	pack.ag/tftp v1.0.1-0.20181129014014-07909dfbde3c // indirect
)
