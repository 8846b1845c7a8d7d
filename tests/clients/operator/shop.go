package main

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

const group = "shop.porthole.test"

// Shop is a web server of some pods behind a service, in the version that is stored.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ShopSpec   `json:"spec"`
	Status            ShopStatus `json:"status,omitempty"`
}

type ShopSpec struct {
	Image    string `json:"image"`
	Replicas *int32 `json:"replicas,omitempty"`
}

type ShopStatus struct {
	Ready      int32              `json:"ready"`
	Leader     string             `json:"leader,omitempty"` // the pod that has written this
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type ShopList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Shop `json:"items"`
}

// OldShop is the version v1alpha1: the same, with the number of pods as a word.
type OldShop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              OldShopSpec `json:"spec"`
	Status            ShopStatus  `json:"status,omitempty"`
}

type OldShopSpec struct {
	Image string `json:"image"`
	Size  string `json:"size,omitempty"` // small, large; a number where there is no word for it
}

var sizes = map[string]int32{"small": 1, "large": 2}

func (*Shop) Hub() {}

func (old *OldShop) ConvertTo(hub conversion.Hub) error {
	shop := hub.(*Shop)
	shop.ObjectMeta, shop.Status, shop.Spec = old.ObjectMeta, old.Status, ShopSpec{Image: old.Spec.Image}
	if old.Spec.Size == "" {
		return nil
	}
	replicas, known := sizes[old.Spec.Size]
	if !known {
		if _, err := fmt.Sscanf(old.Spec.Size, "%d", &replicas); err != nil {
			return fmt.Errorf("there is no size %q", old.Spec.Size)
		}
	}
	shop.Spec.Replicas = &replicas
	return nil
}

func (old *OldShop) ConvertFrom(hub conversion.Hub) error {
	shop := hub.(*Shop)
	old.ObjectMeta, old.Status, old.Spec = shop.ObjectMeta, shop.Status, OldShopSpec{Image: shop.Spec.Image}
	if shop.Spec.Replicas == nil {
		return nil
	}
	old.Spec.Size = fmt.Sprint(*shop.Spec.Replicas)
	for word, replicas := range sizes {
		if replicas == *shop.Spec.Replicas {
			old.Spec.Size = word
		}
	}
	return nil
}

func addToScheme(scheme *runtime.Scheme) {
	version := schema.GroupVersion{Group: group, Version: "v1"}
	scheme.AddKnownTypes(version, &Shop{}, &ShopList{})
	metav1.AddToGroupVersion(scheme, version)
	old := schema.GroupVersion{Group: group, Version: "v1alpha1"}
	scheme.AddKnownTypeWithName(old.WithKind("Shop"), &OldShop{})
	metav1.AddToGroupVersion(scheme, old)
}

// copyOf is what a generator would write out field by field.
func copyOf[T any](from *T) *T {
	text, err := json.Marshal(from)
	to := new(T)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		panic(err)
	}
	return to
}

func (shop *Shop) DeepCopyObject() runtime.Object     { return copyOf(shop) }
func (list *ShopList) DeepCopyObject() runtime.Object { return copyOf(list) }
func (old *OldShop) DeepCopyObject() runtime.Object   { return copyOf(old) }
