#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/core_v1.h"
#include "apiserver/strategy/strategy.h"
#include "apiserver/validation/field_errors.h"

/// The rules of pod specs, as pods and the templates of workloads share them.
namespace porthole::apiserver {

using api::core::v1::Container;
using api::core::v1::EphemeralContainerCommon;
using api::core::v1::LifecycleHandler;
using api::core::v1::PodSpec;
using api::core::v1::PodTemplateSpec;
using api::core::v1::Probe;
using api::core::v1::ResourceRequirements;
using api::core::v1::Volume;

// pod_defaults.cc
/// Defaults of every pod spec, in pods and in templates.
void default_pod_spec(PodSpec& spec);
/// Defaults of pods only: requests from limits, host ports.
void default_pod_object(PodSpec& spec);

// pod_spec.cc
enum class PodSpecIn { Pod, Template };
void validate_pod_spec(const PodSpec& spec, const FieldPath& path, PodSpecIn in, FieldErrors& errors);
/// Labels, annotations and spec of a template.
void validate_pod_template(const PodTemplateSpec& object, const FieldPath& path, FieldErrors& errors);

// pod_resource_claims.cc
/// `path` leads to spec.resourceClaims.
void validate_pod_resource_claims(const std::vector<api::core::v1::PodResourceClaim>& claims, const FieldPath& path, FieldErrors& errors);
/// Of the entries of spec.resourceClaims.
struct PodClaimNames {
    explicit PodClaimNames(const PodSpec& spec);
    std::set<std::string> names;
    std::string help;  ///< appended to the error for an unknown name
};
/// The claims of a container; `path` leads to resources.claims.
void validate_container_claims(const std::vector<api::core::v1::ResourceClaim>& claims, const PodClaimNames& known, const FieldPath& path,
                               FieldErrors& errors);

// pod_container.cc
struct ContainerScope {
    ContainerScope(const PodSpec& pod, PodSpecIn in);
    const PodSpec& pod;
    PodSpecIn in;
    PodClaimNames claims;
    std::map<std::string_view, const Volume*> volumes;  ///< by name
};
void validate_containers(const PodSpec& spec, const FieldPath& path, PodSpecIn in, FieldErrors& errors);
void validate_resources(const ResourceRequirements& resources, const FieldPath& path, FieldErrors& errors);

// pod_level_resources.cc
/// Requests and limits that a pod does not state as a whole, from its limits and its containers.
void default_pod_level_resources(PodSpec& spec);
/// `path` leads to spec.resources.
void validate_pod_level_resources(const PodSpec& spec, const FieldPath& path, FieldErrors& errors);

// pod_volume.cc
void validate_volumes(const std::vector<Volume>& volumes, const FieldPath& path, PodSpecIn in, FieldErrors& errors);

// app_armor.cc
using AppArmorProfileBox = schema::Box<api::core::v1::AppArmorProfile>;
void validate_app_armor(const AppArmorProfileBox& profile, const FieldPath& path, FieldErrors& errors);
/// The annotations that named the profiles of containers before the field did: they name containers of the spec, and agree with its
/// fields. `annotations` and `path` lead to the annotations and to the spec.
void validate_app_armor_annotations(const api::meta::v1::ObjectMeta& metadata, const PodSpec& spec, const FieldPath& annotations,
                                    const FieldPath& path, FieldErrors& errors);
/// Sets the fields of containers that have the annotation only. Nothing of Windows pods.
void take_app_armor_annotations(api::core::v1::Pod& pod);
void forbid_changed_app_armor_annotations(const api::meta::v1::ObjectMeta& now, const api::meta::v1::ObjectMeta& before,
                                          FieldErrors& errors);
/// Of annotations in place of the field. A pod has got the field already, so one that was sent with both is told so too.
void warn_of_app_armor(const api::meta::v1::ObjectMeta& metadata, const PodSpec& spec, const FieldPath& path,
                       std::vector<std::string>& warnings);

// pod_affinity.cc
void validate_placement(const PodSpec& spec, const FieldPath& path, FieldErrors& errors);
void validate_node_selector(const api::core::v1::NodeSelector& selector, const FieldPath& path, FieldErrors& errors);
void validate_tolerations(const std::vector<api::core::v1::Toleration>& tolerations, const FieldPath& path, FieldErrors& errors);

// pod_update.cc
void validate_pod_update(const api::core::v1::Pod& object, const api::core::v1::Pod& old, FieldErrors& errors);
void validate_pod_status_update(const api::core::v1::Pod& object, const api::core::v1::Pod& old, FieldErrors& errors);

// pod_resize.cc
SubresourceStrategy pod_resize();

// pod_warnings.cc
/// Warnings about specs that are valid but probably not intended; clients show them. `path` is that of metadata and spec: "" for a pod
/// itself.
void warn_of_pod(const api::meta::v1::ObjectMeta& metadata, const PodSpec& spec, const FieldPath& path, std::vector<std::string>& warnings);
/// A warning about a name that is not a DNS label; `use` names what is derived from it, "Pod names and hostnames".
void warn_of_name(const std::string& name, std::string_view use, std::vector<std::string>& warnings);

// Small checks that the files above share.
inline void check_not_negative(std::int64_t value, const FieldPath& path, FieldErrors& errors) {
    if (value < 0) errors.invalid(path, value, "must be greater than or equal to 0");
}
void check_relative_path(const std::string& text, const FieldPath& path, FieldErrors& errors);
/// The path must be relative, and its first element not "..", so that it stays inside a volume.
void check_path_in_volume(const std::string& text, const FieldPath& path, FieldErrors& errors);
void check_port(const IntOrString& port, const FieldPath& path, FieldErrors& errors);
bool is_one_of(std::string_view text, std::initializer_list<std::string_view> allowed);

}  // namespace porthole::apiserver
