#include <algorithm>

#include "api/core_v1.h"
#include "api/networking_v1.h"
#include "api/storage_v1.h"
#include "apiserver/admission/plugins.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::PersistentVolumeClaim;
using api::networking::v1::Ingress;
using api::networking::v1::IngressClass;
using api::storage::v1::StorageClass;

bool is_marked(const api::meta::v1::ObjectMeta& metadata, const char* annotation) {
    const auto found = metadata.annotations.find(annotation);
    return found != metadata.annotations.end() && found->second == "true";
}

bool is_new(const AdmissionAttributes& attributes, const char* group, const char* resource) {
    return attributes.is(group, resource) && attributes.subresource.empty() && attributes.operation == AdmissionOperation::Create;
}

class DefaultStorageClass final : public AdmissionPlugin {
public:
    explicit DefaultStorageClass(const ObjectReader& reader) : reader_(reader) {}
    std::string_view name() const override { return "DefaultStorageClass"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("", "persistentvolumeclaims"); }

    Task<> admit(AdmissionAttributes& attributes) override {
        if (!is_new(attributes, "", "persistentvolumeclaims")) co_return {};
        const auto& claim = attributes.object->view<PersistentVolumeClaim>();
        if (claim.spec.storage_class_name || claim.metadata.annotations.contains("volume.beta.kubernetes.io/storage-class")) co_return {};
        CO_TRY(const auto classes, reader_.list<StorageClass>());
        const StorageClass* best = nullptr;  // of several, the newest
        for (const auto& one : classes) {
            if (!is_marked(one->metadata, "storageclass.kubernetes.io/is-default-class")) continue;
            if (!best || best->metadata.creation_timestamp < one->metadata.creation_timestamp) best = one.get();
        }
        if (best) attributes.object->edit<PersistentVolumeClaim>().spec.storage_class_name = best->metadata.name;
        co_return {};
    }

private:
    const ObjectReader& reader_;
};

class DefaultIngressClass final : public AdmissionPlugin {
public:
    explicit DefaultIngressClass(const ObjectReader& reader) : reader_(reader) {}
    std::string_view name() const override { return "DefaultIngressClass"; }
    bool handles(const AdmissionAttributes& attributes) const override { return attributes.is("networking.k8s.io", "ingresses"); }

    Task<> admit(AdmissionAttributes& attributes) override {
        if (!is_new(attributes, "networking.k8s.io", "ingresses")) co_return {};
        const auto& ingress = attributes.object->view<Ingress>();
        if (ingress.spec.ingress_class_name || ingress.metadata.annotations.contains("kubernetes.io/ingress.class")) co_return {};
        CO_TRY(const auto classes, reader_.list<IngressClass>());
        std::vector<std::string> marked;
        for (const auto& one : classes) {
            if (is_marked(one->metadata, "ingressclass.kubernetes.io/is-default-class")) marked.push_back(one->metadata.name);
        }
        if (marked.size() > 1) {
            co_return admission_forbidden(attributes, std::to_string(marked.size()) + " default IngressClasses were found, only 1 allowed");
        }
        if (!marked.empty()) attributes.object->edit<Ingress>().spec.ingress_class_name = marked[0];
        co_return {};
    }

private:
    const ObjectReader& reader_;
};

class StorageObjectInUseProtection final : public AdmissionPlugin {
public:
    std::string_view name() const override { return "StorageObjectInUseProtection"; }
    Task<> admit(AdmissionAttributes& attributes) override {
        const char* finalizer = is_new(attributes, "", "persistentvolumeclaims")                  ? "kubernetes.io/pvc-protection"
                                : is_new(attributes, "", "persistentvolumes")                     ? "kubernetes.io/pv-protection"
                                : is_new(attributes, "storage.k8s.io", "volumeattributesclasses") ? "kubernetes.io/vac-protection"
                                                                                                  : nullptr;
        if (!finalizer) co_return {};
        attributes.object->edit_metadata([&](auto& metadata) {
            if (std::ranges::find(metadata.finalizers, finalizer) == metadata.finalizers.end()) metadata.finalizers.push_back(finalizer);
        });
        co_return {};
    }
};

}  // namespace

AdmissionPluginPtr make_default_storage_class(const AdmissionDependencies& given) {
    return std::make_unique<DefaultStorageClass>(given.reader);
}
AdmissionPluginPtr make_default_ingress_class(const AdmissionDependencies& given) {
    return std::make_unique<DefaultIngressClass>(given.reader);
}
AdmissionPluginPtr make_storage_object_in_use_protection(const AdmissionDependencies&) {
    return std::make_unique<StorageObjectInUseProtection>();
}

}  // namespace porthole::apiserver
