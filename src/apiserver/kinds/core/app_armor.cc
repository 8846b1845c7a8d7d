// AppArmor profiles of pods: the fields, and the annotation for each container that was there before them (KEP-24).
#include <set>

#include "apiserver/kinds/core/pod_spec.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::AppArmorProfile;
using api::core::v1::SecurityContext;
using api::meta::v1::ObjectMeta;
using Profile = AppArmorProfileBox;

constexpr std::string_view Key = "container.apparmor.security.beta.kubernetes.io/";
constexpr std::string_view RuntimeDefault = "runtime/default", Unconfined = "unconfined", Localhost = "localhost/";
constexpr std::size_t LongestProfile = 4095;

/// Calls `visit(container, path)` for every container of all three sorts.
template <class Spec, class Visit>
void for_each_container(Spec& spec, const FieldPath& path, Visit visit) {
    const auto each = [&](auto& list, const char* name) {
        for (std::size_t i = 0; i < list.size(); ++i) visit(list[i], (path / name).index(i));
    };
    each(spec.init_containers, "initContainers");
    each(spec.containers, "containers");
    each(spec.ephemeral_containers, "ephemeralContainers");
}

Profile own_profile(const schema::Box<SecurityContext>& context) { return context ? context->app_armor_profile : Profile(); }

Profile pod_profile(const PodSpec& spec) { return spec.security_context ? spec.security_context->app_armor_profile : Profile(); }

const std::string* find_annotation(const ObjectMeta& metadata, const std::string& container) {
    if (metadata.annotations.empty()) return nullptr;
    const auto found = metadata.annotations.find(std::string(Key) + container);
    return found == metadata.annotations.end() ? nullptr : &found->second;
}

/// Null for an annotation that no valid field could hold.
Profile profile_of(const std::string& annotation) {
    AppArmorProfile profile;
    if (annotation == Unconfined) {
        profile.type = "Unconfined";
    } else if (annotation == RuntimeDefault) {
        profile.type = "RuntimeDefault";
    } else {
        if (!annotation.starts_with(Localhost) || annotation == Localhost) return {};
        profile.type = "Localhost";
        profile.localhost_profile = annotation.substr(Localhost.size());
        FieldErrors errors;
        validate_app_armor(profile, "", errors);
        if (!errors.empty()) return {};
    }
    return profile;
}

bool is_of_windows(const PodSpec& spec) { return spec.os && spec.os->name == "windows"; }

void validate_match(const AppArmorProfile& profile, const std::string& annotation, const FieldPath& path, FieldErrors& errors) {
    const bool localhost = profile.type == "Localhost";
    const bool same_type = localhost                          ? annotation.starts_with(Localhost)
                           : profile.type == "Unconfined"     ? annotation == Unconfined
                           : profile.type == "RuntimeDefault" ? annotation == RuntimeDefault
                                                              : true;
    if (!same_type)
        errors.forbidden(path / "type", "apparmor type in annotation and field must match");
    else if (localhost && annotation.substr(Localhost.size()) != profile.localhost_profile)
        errors.forbidden(path / "localhostProfile", "apparmor profile in annotation and field must match");
}

}  // namespace

void validate_app_armor(const Profile& profile, const FieldPath& path, FieldErrors& errors) {
    if (!profile) return;
    const FieldPath at = path / "localhostProfile";
    const auto& name = profile->localhost_profile;
    if (profile->type != "Localhost") {
        if (name) errors.invalid(at, *name, "can only be set when AppArmor type is Localhost");
        return;
    }
    constexpr std::string_view Space = " \t\n\v\f\r";
    if (!name || name->empty())
        errors.required(at, "must be set when AppArmor type is Localhost");
    else if (Space.contains(name->front()) || Space.contains(name->back()))
        errors.invalid(at, *name, "must not be padded with whitespace");
    if (name && name->size() > LongestProfile) errors.too_long(at, LongestProfile);
}

void validate_app_armor_annotations(const ObjectMeta& metadata, const PodSpec& spec, const FieldPath& annotations, const FieldPath& path,
                                    FieldErrors& errors) {
    std::set<std::string_view> names;
    if (!metadata.annotations.empty())
        for_each_container(spec, path, [&](const auto& container, const FieldPath&) { names.insert(container.name); });
    for (const auto& [key, value] : metadata.annotations) {
        if (!key.starts_with(Key)) continue;
        const std::string name = key.substr(Key.size());
        if (!names.contains(name)) errors.invalid(annotations.key(key), name, "container not found");
        if (!value.empty() && value != RuntimeDefault && value != Unconfined && !value.starts_with(Localhost))
            errors.invalid(annotations.key(key), value, "invalid AppArmor profile name: \"" + value + "\"");
    }
    if (is_of_windows(spec)) return;
    for_each_container(spec, path, [&](const auto& container, const FieldPath& at) {
        const std::string* annotation = find_annotation(metadata, container.name);
        if (!annotation) return;
        const Profile own = own_profile(container.security_context), profile = own ? own : pod_profile(spec);
        if (profile) validate_match(*profile, *annotation, at / "securityContext" / "appArmorProfile", errors);
    });
}

void take_app_armor_annotations(api::core::v1::Pod& pod) {
    if (pod.metadata.annotations.empty() || is_of_windows(pod.spec)) return;
    const Profile shared = pod_profile(pod.spec);
    for_each_container(pod.spec, "spec", [&](auto& container, const FieldPath&) {
        const std::string* annotation = find_annotation(pod.metadata, container.name);
        if (!annotation || own_profile(container.security_context)) return;
        Profile wanted = profile_of(*annotation);
        if (!wanted || wanted == shared) return;
        if (!container.security_context) container.security_context.emplace();
        container.security_context->app_armor_profile = std::move(wanted);
    });
}

void warn_of_app_armor(const ObjectMeta& metadata, const PodSpec& spec, const FieldPath& path, std::vector<std::string>& warnings) {
    for_each_container(spec, path / "spec", [&](const auto& container, const FieldPath&) {
        const std::string* annotation = find_annotation(metadata, container.name);
        if (!annotation) return;
        const Profile wanted = profile_of(*annotation), own = own_profile(container.security_context);
        const bool of_template = !path.text().empty();
        if (own ? of_template || !(own == wanted) : wanted && wanted == pod_profile(spec)) return;
        const FieldPath at = (path / "metadata" / "annotations").key(std::string(Key) + container.name);
        warnings.push_back(std::string(at.text()) + R"(: deprecated since v1.30; use the "appArmorProfile" field instead)");
    });
}

void forbid_changed_app_armor_annotations(const ObjectMeta& now, const ObjectMeta& before, FieldErrors& errors) {
    const FieldPath at = "metadata.annotations";
    for (const auto& [key, value] : before.annotations) {
        if (!key.starts_with(Key)) continue;
        const auto kept = now.annotations.find(key);
        if (kept == now.annotations.end() || kept->second != value)
            errors.forbidden(at.key(key), "may not remove or update AppArmor annotations");
    }
    for (const auto& [key, value] : now.annotations)
        if (key.starts_with(Key) && !before.annotations.contains(key)) errors.forbidden(at.key(key), "may not add AppArmor annotations");
}

}  // namespace porthole::apiserver
