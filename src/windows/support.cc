#include "windows/support.h"

#include <algorithm>

#include "base/strings.h"
#include "windows/rules.h"

namespace porthole::windows {
namespace {

constexpr std::string_view Spec = "spec", Containers = "spec.containers[*]";

/// A rule that a spec falls under, and where.
struct Finding {
    const Rule* rule;
    std::string field;
    bool on_every_system = false, in_container = false;
};

std::string at(std::string_view list, std::size_t index) { return std::string(list) + "[" + std::to_string(index) + "]"; }

/// Calls `visit(container, "containers[0]")` for every container of the lists that `Spec` has.
template <class PodSpec, class Visit>
void for_each_container(PodSpec& spec, Visit visit) {
    for (std::size_t i = 0; i < spec.init_containers.size(); ++i) visit(spec.init_containers[i], at("initContainers", i));
    for (std::size_t i = 0; i < spec.containers.size(); ++i) visit(spec.containers[i], at("containers", i));
    for (std::size_t i = 0; i < spec.ephemeral_containers.size(); ++i) visit(spec.ephemeral_containers[i], at("ephemeralContainers", i));
}

/// "spec.containers[*].securityContext.x" of one container: "<path>.containers[0].securityContext.x".
std::string path_in_container(const Rule& rule, std::string_view path, const std::string& container) {
    return std::string(path) + "." + container + std::string(rule.field.substr(Containers.size()));
}

std::string path_in_pod(const Rule& rule, std::string_view path) { return std::string(path) + std::string(rule.field.substr(Spec.size())); }

bool holds_for_pod(const PodRule& rule, const core::PodSpec& spec) {
    if (rule.pod.is_set) return rule.pod.is_set(spec);
    return rule.pod_security.is_set && spec.security_context && rule.pod_security.is_set(*spec.security_context);
}

void find_in_containers(const PodRule& rule, const core::PodSpec& spec, std::string_view path, std::vector<Finding>& found) {
    for_each_container(spec, [&](const auto& container, const std::string& where) {
        const bool security =
            rule.container_security.is_set && container.security_context && rule.container_security.is_set(*container.security_context);
        constexpr bool ephemeral = std::is_same_v<std::remove_cvref_t<decltype(container)>, core::EphemeralContainer>;
        const bool resources = rule.resources.is_set && !ephemeral && rule.resources.is_set(container.resources);
        const bool environment = rule.environment.is_set && rule.environment.is_set(container.env);
        if (security || resources || environment)
            found.push_back({&rule.rule, path_in_container(rule.rule, path, where), rule.on_every_system, true});
    });
}

std::vector<Finding> find(const core::PodSpec& spec, std::string_view path) {
    std::vector<Finding> found;
    for (const PodRule& rule : pod_rules()) {
        if (holds_for_pod(rule, spec)) found.push_back({&rule.rule, path_in_pod(rule.rule, path), rule.on_every_system});
        find_in_containers(rule, spec, path, found);
    }
    return found;
}

std::string text_of(const std::vector<std::string>& fields, const Rule& rule) {
    return join(fields, ", ") + ": " + std::string(rule.words);
}

/// One text a rule, naming every field that falls under it.
std::vector<std::string> texts(const std::vector<Finding>& findings) {
    std::vector<std::string> made;
    for (auto first = findings.begin(); first != findings.end();) {
        const auto last = std::find_if(first, findings.end(), [&](const Finding& one) { return one.rule != first->rule; });
        std::vector<std::string> fields;
        std::transform(first, last, std::back_inserter(fields), [](const Finding& one) { return one.field; });
        made.push_back(text_of(fields, *first->rule));
        first = last;
    }
    return made;
}

Notice notice(const Finding& finding) { return {std::string(finding.rule->reason), text_of({finding.field}, *finding.rule)}; }

void append(std::vector<Notice>& notices, Notice added) {
    const auto same = std::ranges::find(notices, added.reason, &Notice::reason);
    if (same == notices.end())
        notices.push_back(std::move(added));
    else
        same->message += "; " + added.message;
}

/// Makes the spec what Windows takes it for.
void drop_ignored_fields(core::PodSpec& spec) {
    for (const PodRule& rule : pod_rules()) {
        if (rule.rule.outcome != Outcome::Ignored) continue;
        if (rule.pod.clear && rule.pod.is_set(spec)) rule.pod.clear(spec);
        if (rule.pod_security.clear && spec.security_context) rule.pod_security.clear(*spec.security_context);
        if (!rule.container_security.clear) continue;
        for_each_container(spec, [&](auto& container, const std::string&) {
            if (container.security_context) rule.container_security.clear(*container.security_context);
        });
    }
}

std::string_view text_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::Refused:
            return "refused";
        case Outcome::Ignored:
            return "ignored";
        case Outcome::Advised:
            return "advice";
    }
    return "";
}

}  // namespace

std::span<const Rule> rules() {
    static const std::vector<Rule> all = [] {
        std::vector<Rule> made;
        for (const PlacementRule& one : placement_rules()) made.push_back(one.rule);
        for (const PodRule& one : pod_rules()) made.push_back(one.rule);
        for (const ServiceRule& one : service_rules()) made.push_back(one.rule);
        return made;
    }();
    return all;
}

std::vector<std::string> warnings(const core::PodSpec& spec, std::string_view path, Systems systems) {
    std::vector<std::string> all;
    for (const PlacementRule& one : placement_rules())
        if (one.applies(spec, systems)) all.push_back(text_of({path_in_pod(one.rule, path)}, one.rule));
    std::vector<Finding> found = find(spec, path);
    if (system_asked_for(spec) != "windows") std::erase_if(found, [](const Finding& finding) { return !finding.on_every_system; });
    std::ranges::move(texts(found), std::back_inserter(all));
    return all;
}

std::vector<std::string> warnings(const core::Service& service, Systems systems) {
    std::vector<std::string> all;
    for (const ServiceRule& one : service_rules())
        if (systems.windows && one.applies(service)) all.push_back(text_of({std::string(one.rule.field)}, one.rule));
    return all;
}

std::string container_refusal(const core::Container& container) {
    if (!container.security_context) return "";
    for (const PodRule& one : pod_rules())
        if (one.rule.outcome == Outcome::Refused && one.container_security.is_set &&
            one.container_security.is_set(*container.security_context))
            return std::string(one.rule.words);
    return "";
}

Verdict Verdict::of(const core::PodSpec& spec) {
    Verdict verdict;
    bool ignores = false;
    for (const Finding& finding : find(spec, Spec)) {
        const Rule& rule = *finding.rule;
        if (rule.outcome == Outcome::Refused) {
            if (!finding.in_container && !verdict.refusal) verdict.refusal = notice(finding);
            continue;
        }
        ignores = ignores || rule.outcome == Outcome::Ignored;
        if (!rule.reason.empty()) append(verdict.notices, notice(finding));
    }
    if (ignores) drop_ignored_fields(verdict.effective.emplace(spec));
    return verdict;
}

std::string support_table() {
    std::string text =
        "# Windows support of manifest fields\n\n"
        "This page is generated from the table in `src/windows`, which the API server uses for warnings and the kubelet on Windows\n"
        "follows. If `spec.os.name` is `windows`, the API server rejects, as Kubernetes does, the fields that are \"refused\" here,\n"
        "`hostUsers`, and every ignored field under `securityContext`. If the pod only selects Windows nodes, it warns.\n"
        "`containers[*]` includes init and ephemeral containers.\n\n"
        "| Field | On Windows | Event | Why |\n|---|---|---|---|\n";
    for (const Rule& rule : rules()) {
        text += "| `" + std::string(rule.field) + "` | " + std::string(text_of(rule.outcome)) + " | ";
        text += (rule.reason.empty() ? "" : "`" + std::string(rule.reason) + "`") + " | " + std::string(rule.words) + " |\n";
    }
    return text;
}

}  // namespace porthole::windows
