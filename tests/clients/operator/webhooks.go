package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const mostReplicas = 3

type rules struct{}

func (rules) Default(_ context.Context, shop *Shop) error {
	if shop.Spec.Replicas == nil {
		one := int32(1)
		shop.Spec.Replicas = &one
	}
	return nil
}

func (rules) ValidateCreate(_ context.Context, shop *Shop) (admission.Warnings, error) {
	if *shop.Spec.Replicas > mostReplicas {
		wrong := field.Invalid(field.NewPath("spec", "replicas"), *shop.Spec.Replicas, "a shop has 3 pods at most")
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: group, Kind: "Shop"}, shop.Name, field.ErrorList{wrong})
	}
	if *shop.Spec.Replicas == 0 {
		return admission.Warnings{"a shop without pods is closed"}, nil
	}
	return nil, nil
}

func (all rules) ValidateUpdate(ctx context.Context, before, shop *Shop) (admission.Warnings, error) {
	if before.Spec.Image != shop.Spec.Image {
		wrong := field.Forbidden(field.NewPath("spec", "image"), "a shop keeps its image")
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: group, Kind: "Shop"}, shop.Name, field.ErrorList{wrong})
	}
	return all.ValidateCreate(ctx, shop)
}

func (rules) ValidateDelete(context.Context, *Shop) (admission.Warnings, error) { return nil, nil }
