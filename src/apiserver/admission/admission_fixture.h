#pragma once
#include "apiserver/admission/plugins.h"
#include "apiserver/storage/object_fixture.h"

namespace porthole::apiserver {

/// Sends objects through one plugin, as the server does.
class AdmissionTest : public ObjectTest {
protected:
    /// The plugin's error: "" if it admits the object, which is then as the plugin left it.
    template <class T>
    std::string create(AdmissionPlugin& plugin, T& object) {
        ApiObject wrapped = ApiObject::of(object);
        const std::string answer = pass(plugin, AdmissionOperation::Create, object.metadata, T::kind(), &wrapped, nullptr);
        object = wrapped.view<T>();
        return answer;
    }
    template <class T>
    std::string create(AdmissionPlugin& plugin, T&& object) {
        return create(plugin, object);
    }
    template <class T>
    std::string update(AdmissionPlugin& plugin, const T& before, const T& after, std::string subresource = "") {
        ApiObject wrapped = ApiObject::of(after), old = ApiObject::of(before);
        return pass(plugin, AdmissionOperation::Update, after.metadata, T::kind(), &wrapped, &old, std::move(subresource));
    }
    template <class T>
    std::string remove_object(AdmissionPlugin& plugin, const T& object) {
        ApiObject old = ApiObject::of(object);
        return pass(plugin, AdmissionOperation::Delete, object.metadata, T::kind(), nullptr, &old);
    }

    std::string pass(AdmissionPlugin& plugin, AdmissionOperation operation, const api::meta::v1::ObjectMeta& metadata,
                     const schema::Kind& kind, ApiObject* object, const ApiObject* old, std::string subresource = "") {
        warnings_.clear();
        audit_.clear();
        AdmissionAttributes attributes{.operation = operation,
                                       .kind = kind,
                                       .subresource = std::move(subresource),
                                       .namespace_ = metadata.namespace_,
                                       .name = metadata.name,
                                       .user = user_,
                                       .object = object,
                                       .old_object = old,
                                       .warnings = warnings_,
                                       .audit_annotations = audit_};
        Result<void> outcome;
        if (plugin.handles(attributes)) outcome = run(plugin.admit(attributes));
        if (outcome && plugin.handles(attributes)) outcome = run(plugin.validate(attributes));
        error_ = outcome ? Error() : outcome.error();
        return error_.message;
    }

    User user_{.name = "jane"};
    Error error_;
    std::vector<std::string> warnings_;         // of the last object
    std::map<std::string, std::string> audit_;  // likewise
    ObjectReader reader_{*store_};
    ObjectMap<api::rbac::v1::Role> roles_;
    ObjectMap<api::rbac::v1::RoleBinding> role_bindings_;
    ObjectMap<api::rbac::v1::ClusterRole> cluster_roles_;
    ObjectMap<api::rbac::v1::ClusterRoleBinding> cluster_role_bindings_;
    RbacAuthorizer rbac_{{roles_, role_bindings_, cluster_roles_, cluster_role_bindings_}};
    SeededRandom random_{1};
    windows::Systems systems_{.linux = true, .windows = true};
    AdmissionDependencies given_{.reader = reader_,
                                 .rbac = rbac_,
                                 .authorizer = rbac_,
                                 .random = random_,
                                 .loop = loop_,
                                 .systems = [this] { return systems_; },
                                 .label_of_node = [this](const std::string& node, std::string_view label) -> std::optional<std::string> {
                                     const auto found = reader_.find<api::core::v1::Node>("", node);
                                     if (!found || !*found) return std::nullopt;
                                     const auto value = (*found)->metadata.labels.find(std::string(label));
                                     return value == (*found)->metadata.labels.end() ? std::nullopt : std::optional(value->second);
                                 }};
};

}  // namespace porthole::apiserver
