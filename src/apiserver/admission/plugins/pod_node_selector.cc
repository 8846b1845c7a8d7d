#include <algorithm>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/outgoing/config_object.h"
#include "apiserver/request/status.h"
#include "apiserver/validation/names.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using Labels = std::map<std::string, std::string>;

constexpr const char* Annotation = "scheduler.alpha.kubernetes.io/node-selector";
constexpr const char* ClusterDefault = "clusterDefaultNodeSelector";

/// "a=b,c=d". Error: Unknown, as upstream's 500 without a reason.
Result<Labels> parse_labels(std::string_view selector) {
    Labels labels;
    if (selector.empty()) return labels;
    for (const std::string_view one : split_views(selector, ',')) {
        const auto parts = split_views(one, '=');
        if (parts.size() != 2) return Error(Reason::Unknown, "invalid selector: [" + join(parts, " ") + "]");
        const std::string key(trim(parts[0])), value(trim(parts[1]));
        auto problems = names::check_qualified_name(key);
        if (problems.empty()) problems = names::check_label_value(value);
        if (!problems.empty()) return Error(Reason::Unknown, "invalid selector: " + std::string(one) + ": " + join(problems, "; "));
        labels[key] = value;
    }
    return labels;
}

bool conflict(const Labels& first, const Labels& second) {
    return std::ranges::any_of(first, [&](const auto& label) {
        const auto found = second.find(label.first);
        return found != second.end() && found->second != label.second;
    });
}

/// As the plugin's configuration has them: by namespace, what its pods may select, and what pods of namespaces without a selector get.
using Selectors = std::map<std::string, Labels>;

class PodNodeSelector final : public AdmissionPlugin {
public:
    PodNodeSelector(const ObjectReader& reader, Selectors selectors) : reader_(reader), selectors_(std::move(selectors)) {}
    std::string_view name() const override { return "PodNodeSelector"; }

    Task<> admit(AdmissionAttributes& attributes) override {
        if (!concerns(attributes)) co_return {};
        CO_TRY(const Labels wanted, selector_of(attributes.namespace_));
        CO_TRY_VOID(check_conflict(attributes, wanted));
        if (!wanted.empty()) attributes.object->edit<Pod>().spec.node_selector.insert(wanted.begin(), wanted.end());
        co_return check_allowed(attributes);
    }
    Task<> validate(const AdmissionAttributes& attributes) override {
        if (!concerns(attributes)) co_return {};
        CO_TRY(const Labels wanted, selector_of(attributes.namespace_));
        CO_TRY_VOID(check_conflict(attributes, wanted));
        co_return check_allowed(attributes);
    }

private:
    static bool concerns(const AdmissionAttributes& attributes) {
        return attributes.is("", "pods") && attributes.subresource.empty() && attributes.operation == AdmissionOperation::Create;
    }
    static Result<void> check_conflict(const AdmissionAttributes& attributes, const Labels& wanted) {
        if (!conflict(wanted, attributes.object->view<Pod>().spec.node_selector)) return {};
        return admission_forbidden(attributes, "pod node label selector conflicts with its namespace node label selector");
    }
    Result<void> check_allowed(const AdmissionAttributes& attributes) const {
        const auto found = selectors_.find(attributes.namespace_);
        if (found == selectors_.end() || found->second.empty()) return {};
        const bool allowed = std::ranges::all_of(attributes.object->view<Pod>().spec.node_selector, [&](const auto& label) {
            const auto one = found->second.find(label.first);
            return one != found->second.end() && one->second == label.second;
        });
        if (allowed) return {};
        return admission_forbidden(attributes, "pod node label selector labels conflict with its namespace whitelist");
    }
    Result<Labels> selector_of(const std::string& namespace_) const {
        TRY(const auto found, reader_.find<Namespace>("", namespace_));
        if (!found) return not_found(Namespace::kind(), namespace_);
        const auto annotation = found->metadata.annotations.find(Annotation);
        if (annotation != found->metadata.annotations.end()) return parse_labels(annotation->second);
        const auto fallback = selectors_.find(ClusterDefault);
        return fallback == selectors_.end() ? Labels() : fallback->second;
    }

    const ObjectReader& reader_;
    const Selectors selectors_;
};

Result<Selectors> parse_selectors(const schema::Value& configuration) {
    ConfigProblems problems;
    ConfigObject root(configuration, "", problems);
    ConfigObject by_namespace = root.object("podNodeSelectorPluginConfig");
    Selectors selectors;
    for (const std::string& name : by_namespace.fields()) {
        auto labels = parse_labels(by_namespace.text(name));
        if (!labels) {
            problems.add(by_namespace.path_of(name), labels.error().message);
        } else {
            selectors[name] = std::move(*labels);
        }
    }
    // The file without a version also holds what other plugins read.
    TRY_VOID(problems.outcome("configuration"));
    return selectors;
}

}  // namespace

Result<AdmissionPluginPtr> make_pod_node_selector(const AdmissionDependencies& given) {
    Selectors selectors;
    if (const schema::Value* configuration = given.configuration_of("PodNodeSelector")) {
        TRY(selectors, parse_selectors(*configuration));
    }
    return std::make_unique<PodNodeSelector>(given.reader, std::move(selectors));
}

}  // namespace porthole::apiserver
