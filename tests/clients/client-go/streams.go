package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
)

func (w *World) podSpec(script string) corev1.PodSpec {
	second := int64(1)
	return corev1.PodSpec{TerminationGracePeriodSeconds: &second,
		Containers: []corev1.Container{{Name: "main", Image: w.image, Command: []string{"sh", "-c", script}}}}
}

func (w *World) startPod(name, script string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: w.podSpec(script)}
	if _, err := w.clients.CoreV1().Pods(w.namespace).Create(w, pod, create); err != nil {
		return err
	}
	return w.eventually(name+" runs", func() (bool, error) {
		found, err := w.clients.CoreV1().Pods(w.namespace).Get(w, name, get)
		return err == nil && found.Status.Phase == corev1.PodRunning, err
	})
}

// Over WebSocket and over SPDY: input, both outputs, exit code, and a log that is followed to its end.
func execRunsInAContainer(w *World) error {
	if err := w.startPod("box", "echo begun; while [ ! -e /end ]; do sleep 0.1; done; echo ended"); err != nil {
		return err
	}
	request := w.clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(w.namespace).Name("box").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"sh", "-c", "cat; echo complaint >&2; exit 7"}, Stdin: true, Stdout: true, Stderr: true},
			scheme.ParameterCodec)
	webSocket, err := remotecommand.NewWebSocketExecutor(w.config, http.MethodGet, request.URL().String())
	if err != nil {
		return err
	}
	overSpdy, err := remotecommand.NewSPDYExecutor(w.config, http.MethodPost, request.URL())
	if err != nil {
		return err
	}
	for name, executor := range map[string]remotecommand.Executor{"WebSocket": webSocket, "SPDY": overSpdy} {
		var out, complaints bytes.Buffer
		err := executor.StreamWithContext(w, remotecommand.StreamOptions{Stdin: strings.NewReader("through"), Stdout: &out, Stderr: &complaints})
		var code exec.CodeExitError
		if !errors.As(err, &code) || code.Code != 7 || out.String() != "through" || complaints.String() != "complaint\n" {
			return fmt.Errorf("%s: %v, out %q, err %q", name, err, &out, &complaints)
		}
	}
	log, err := w.clients.CoreV1().Pods(w.namespace).GetLogs("box", &corev1.PodLogOptions{Follow: true}).Stream(w)
	if err != nil {
		return err
	}
	defer log.Close()
	end := w.clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(w.namespace).Name("box").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"touch", "/end"}, Stdout: true}, scheme.ParameterCodec)
	ender, err := remotecommand.NewWebSocketExecutor(w.config, http.MethodGet, end.URL().String())
	if err != nil {
		return err
	}
	if err := ender.StreamWithContext(w, remotecommand.StreamOptions{Stdout: io.Discard}); err != nil {
		return err
	}
	text, err := io.ReadAll(log)
	return errors.Join(err, expect(string(text) == "begun\nended\n", "the log is %q", text))
}

// A port of a pod, over SPDY as older clients and over a tunnel in WebSocket as newer ones.
func forwardReachesAPort(w *World) error {
	page := "mkdir -p /tmp/www && echo page > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www"
	if err := w.startPod("web", page); err != nil {
		return err
	}
	target := w.clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(w.namespace).Name("web").SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(w.config)
	if err != nil {
		return err
	}
	overSpdy := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	tunnel, err := portforward.NewSPDYOverWebsocketDialer(target, rest.CopyConfig(w.config))
	if err != nil {
		return err
	}
	for name, dialer := range map[string]httpstream.Dialer{"SPDY": overSpdy, "WebSocket": tunnel} {
		if err := w.fetchThrough(dialer); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (w *World) fetchThrough(dialer httpstream.Dialer) error {
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.New(dialer, []string{"0:8080"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	defer close(stop)
	select {
	case <-ready:
	case err := <-ended:
		return err
	case <-w.Done():
		return errors.New("no listening port in time")
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return err
	}
	return w.eventually("the page comes", func() (bool, error) {
		ctx, cancel := context.WithTimeout(w, 2*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local), nil)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil // the server in the pod may still be starting
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return string(text) == "page\n", err
	})
}
