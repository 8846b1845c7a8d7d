// Fills volumes from objects of the kind Hello, in place of upstream's program of that name, whose module no registry carries: as a controller
// it watches claims whose dataSourceRef is a Hello, and as `--mode=populate` it writes the one file.
//
// For such a claim it makes another one without a source in its own namespace, lets a pod fill that, and hands the volume over: the claim that
// the PersistentVolume names becomes the one of the user.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"
	"path/filepath"
	"time"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	period       = time.Second
	mount        = "/mnt"
	selectedNode = "volume.kubernetes.io/selected-node"
)

var hellos = schema.GroupVersionResource{Group: "hello.example.com", Version: "v1alpha1", Resource: "hellos"}

type hello struct {
	Spec struct {
		FileName     string `json:"fileName"`
		FileContents string `json:"fileContents"`
	} `json:"spec"`
}

type controller struct {
	client           kubernetes.Interface
	sources          dynamic.Interface
	namespace, image string
	filling          map[types.UID]bool // claims of users for which something may be left in our namespace
}

func isOurs(claim *core.PersistentVolumeClaim) bool {
	source := claim.Spec.DataSourceRef
	return source != nil && source.Kind == "Hello" && source.APIGroup != nil && *source.APIGroup == hellos.Group
}

func (c *controller) round(ctx context.Context) error {
	claims, err := c.client.CoreV1().PersistentVolumeClaims("").List(ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	left := map[types.UID]bool{}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if !isOurs(claim) || claim.DeletionTimestamp != nil || claim.Status.Phase == core.ClaimBound {
			continue
		}
		left[claim.UID] = true
		c.filling[claim.UID] = true
		if err := c.fill(ctx, claim); err != nil {
			log.Printf("%s/%s: %v", claim.Namespace, claim.Name, err)
		}
	}
	for uid := range c.filling {
		if !left[uid] && c.cleanUp(ctx, uid) == nil {
			delete(c.filling, uid)
		}
	}
	return nil
}

// One step further with a claim that is not bound yet.
func (c *controller) fill(ctx context.Context, claim *core.PersistentVolumeClaim) error {
	if ready, err := c.nodeIsChosen(ctx, claim); err != nil || !ready {
		return err
	}
	name := "hello-" + string(claim.UID)
	made, err := c.client.CoreV1().PersistentVolumeClaims(c.namespace).Get(ctx, name, meta.GetOptions{})
	if errors.IsNotFound(err) {
		return c.begin(ctx, name, claim)
	}
	if err != nil {
		return err
	}
	pod, err := c.client.CoreV1().Pods(c.namespace).Get(ctx, name, meta.GetOptions{})
	if err != nil || pod.Status.Phase != core.PodSucceeded {
		return err
	}
	reference := map[string]any{"namespace": claim.Namespace, "name": claim.Name, "uid": claim.UID, "resourceVersion": claim.ResourceVersion}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"claimRef": reference}})
	if err == nil {
		_, err = c.client.CoreV1().PersistentVolumes().Patch(ctx, made.Spec.VolumeName, types.StrategicMergePatchType, patch, meta.PatchOptions{})
	}
	return err
}

// The scheduler chooses one for a class that binds late, and the driver makes the volume there.
func (c *controller) nodeIsChosen(ctx context.Context, claim *core.PersistentVolumeClaim) (bool, error) {
	if claim.Spec.StorageClassName == nil {
		return true, nil
	}
	class, err := c.client.StorageV1().StorageClasses().Get(ctx, *claim.Spec.StorageClassName, meta.GetOptions{})
	if err != nil {
		return false, err
	}
	late := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storage.VolumeBindingWaitForFirstConsumer
	return !late || claim.Annotations[selectedNode] != "", nil
}

// The pod first, so that a claim without one never stays behind.
func (c *controller) begin(ctx context.Context, name string, claim *core.PersistentVolumeClaim) error {
	object, err := c.sources.Resource(hellos).Namespace(claim.Namespace).Get(ctx, claim.Spec.DataSourceRef.Name, meta.GetOptions{})
	if err != nil {
		return err
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	var source hello
	if err := json.Unmarshal(text, &source); err != nil {
		return err
	}
	_, err = c.client.CoreV1().Pods(c.namespace).Create(ctx, c.podFor(name, source), meta.CreateOptions{})
	if err != nil && !errors.IsAlreadyExists(err) {
		return err
	}
	made := &core.PersistentVolumeClaim{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: *claim.Spec.DeepCopy()}
	made.Spec.DataSource, made.Spec.DataSourceRef = nil, nil
	if node := claim.Annotations[selectedNode]; node != "" {
		made.Annotations = map[string]string{selectedNode: node}
	}
	_, err = c.client.CoreV1().PersistentVolumeClaims(c.namespace).Create(ctx, made, meta.CreateOptions{})
	return err
}

func (c *controller) podFor(name string, source hello) *core.Pod {
	volume := core.VolumeSource{PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	return &core.Pod{
		ObjectMeta: meta.ObjectMeta{Name: name},
		Spec: core.PodSpec{
			RestartPolicy: core.RestartPolicyNever,
			Volumes:       []core.Volume{{Name: "target", VolumeSource: volume}},
			Containers: []core.Container{{
				Name: "populate", Image: c.image, ImagePullPolicy: core.PullIfNotPresent,
				Args:         []string{"--mode=populate", "--file-name=" + source.Spec.FileName, "--file-contents=" + source.Spec.FileContents},
				VolumeMounts: []core.VolumeMount{{Name: "target", MountPath: mount}},
			}},
		},
	}
}

func (c *controller) cleanUp(ctx context.Context, uid types.UID) error {
	name := "hello-" + string(uid)
	if err := c.client.CoreV1().Pods(c.namespace).Delete(ctx, name, meta.DeleteOptions{}); err != nil && !errors.IsNotFound(err) {
		return err
	}
	err := c.client.CoreV1().PersistentVolumeClaims(c.namespace).Delete(ctx, name, meta.DeleteOptions{})
	if errors.IsNotFound(err) {
		return nil
	}
	return err
}

func main() {
	mode := flag.String("mode", "", "controller or populate")
	namespace := flag.String("namespace", "hello", "controller: where claims and pods are made")
	image := flag.String("image-name", "", "controller: the image of this program")
	_ = flag.String("http-endpoint", "", "accepted, as the manifest gives it; nothing is served there")
	name := flag.String("file-name", "", "populate: of the file in the volume")
	contents := flag.String("file-contents", "", "populate: what is written")
	flag.Parse()

	if *mode == "populate" {
		if err := os.WriteFile(filepath.Join(mount, filepath.Base(*name)), []byte(*contents), 0o644); err != nil {
			log.Fatal(err)
		}
		return
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	c := controller{kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config), *namespace, *image, map[types.UID]bool{}}
	for ; ; time.Sleep(period) {
		if err := c.round(context.Background()); err != nil {
			log.Print(err)
		}
	}
}
