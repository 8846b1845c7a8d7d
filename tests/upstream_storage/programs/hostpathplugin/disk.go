package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

func makeOpenFolder(path string) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	return os.Chmod(path, 0o777)
}

func growFile(path string, size int64) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Truncate(size)
}

func copyTree(from, to string) error {
	words := []string{"-a", from, to}
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		if err := os.MkdirAll(to, 0o777); err != nil {
			return err
		}
		words = []string{"-a", from + "/.", to}
	}
	if text, err := exec.Command("cp", words...).CombinedOutput(); err != nil {
		return fmt.Errorf("cp %s: %w: %s", strings.Join(words, " "), err, text)
	}
	return nil
}

func bind(from, to string, readOnly bool) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if !readOnly {
		return nil
	}
	return unix.Mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

func isMounted(path string) bool {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 4 && words[4] == path {
			return true
		}
	}
	return false
}

func attachLoop(path string) (string, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer control.Close()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	for { // another program may take the device first
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return "", err
		}
		name := fmt.Sprintf("/dev/loop%d", number)
		device, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return "", err
		}
		err = unix.IoctlSetInt(int(device.Fd()), unix.LOOP_SET_FD, int(file.Fd()))
		device.Close()
		if err != unix.EBUSY {
			return name, err
		}
	}
}

func onLoop(device string, command uint) error {
	if device == "" {
		return nil
	}
	file, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.IoctlSetInt(int(file.Fd()), command, 0)
}

func detachLoop(device string) error { return onLoop(device, unix.LOOP_CLR_FD) }

func noticeGrowth(device string) error { return onLoop(device, unix.LOOP_SET_CAPACITY) }
