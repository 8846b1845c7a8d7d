#include "windows/lint/edits.h"

#include <algorithm>
#include <span>

#include "schema/json/json.h"
#include "schema/yaml/yaml.h"
#include "windows/lint/objects.h"
#include "windows/manifest_rules.h"

namespace porthole::windows::lint {
namespace {

using schema::Value;
using schema::YamlNode;
using Kind = Edit::Kind;
using Steps = std::vector<std::string>;

/// Rules whose field is removed: without it the object does on Windows what it does today, or what it can.
constexpr std::string_view Removed[] = {"WIN101", "WIN102", "WIN103", "WIN104", "WIN105", "WIN106", "WIN201", "WIN202", "WIN203",
                                        "WIN204", "WIN205", "WIN206", "WIN207", "WIN208", "WIN209", "WIN210", "WIN211", "WIN212",
                                        "WIN221", "WIN222", "WIN223", "WIN224", "WIN225", "WIN226", "WIN227", "WIN228", "WIN229",
                                        "WIN231", "WIN232", "WIN303", "WIN307", "WIN311", "WIN312", "WIN313", "WIN314", "WIN403"};

/// Members that mean nothing when they are empty, and are removed with the last member of theirs.
constexpr std::string_view Containers[] = {"securityContext", "annotations", "clientIP", "sessionAffinityConfig"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) { return std::ranges::find(names, name) != names.end(); }

/// The member, or the outermost one that would be empty without it.
Steps emptied(Steps steps, const Value& document) {
    while (steps.size() > 1) {
        const std::span<const std::string> parent(steps.data(), steps.size() - 1);
        const Value* above = value_at(document, parent);
        if (!is_one_of(parent.back(), Containers) || !above || !above->is_object() || above->as_object().size() != 1) break;
        steps.pop_back();
    }
    return steps;
}

Edit removal(Steps steps, const Value& document) { return {.kind = Kind::Remove, .steps = emptied(std::move(steps), document)}; }

/// Removes `mode` of every item of the list at `path`.
void remove_modes(const std::string& path, const Value& document, std::vector<Edit>& edits) {
    const Steps steps = steps_of(path);
    const Value* items = value_at(document, steps);
    for (std::size_t i = 0; items && items->is_array() && i < items->as_array().size(); ++i) {
        if (!items->as_array()[i].find("mode")) continue;
        Steps mode = steps;
        mode.insert(mode.end(), {std::to_string(i), "mode"});
        edits.push_back({.kind = Kind::Remove, .steps = std::move(mode)});
    }
}

void remove_modes_of_sources(const std::string& path, const Value& document, std::vector<Edit>& edits) {
    const Value* sources = value_at(document, path);
    for (std::size_t i = 0; sources && sources->is_array() && i < sources->as_array().size(); ++i)
        for (const char* source : {"secret", "configMap", "downwardAPI"})
            remove_modes(path + "[" + std::to_string(i) + "]." + source + ".items", document, edits);
}

/// nodeSelector["kubernetes.io/os"] as spec.os.name says.
std::vector<Edit> add_selector_of_system(const Steps& name, const Value& document) {
    constexpr const char* Label = "kubernetes.io/os";
    const Value* system = value_at(document, name);
    Steps spec(name.begin(), name.end() - 2);
    const Value* pod = value_at(document, spec);
    if (!system || !system->is_string() || !pod) return {};
    const Value* selector = pod->find("nodeSelector");
    if (!selector)
        return {{.kind = Kind::Insert,
                 .steps = std::move(spec),
                 .text = "nodeSelector",
                 .value = Value::object({{Label, *system}}),
                 .before = "containers"}};
    if (!selector->is_object() || selector->as_object().empty() || selector->find(Label)) return {};
    spec.emplace_back("nodeSelector");
    return {
        {.kind = Kind::Insert, .steps = std::move(spec), .text = Label, .value = *system, .before = selector->as_object().begin()->key}};
}

std::vector<Edit> add_selector(const Steps& spec, const Value& document) {
    Steps labels = spec;
    labels.insert(labels.end(), {"template", "metadata", "labels"});
    const Value* found = value_at(document, labels);
    const Value* parent = value_at(document, spec);
    if (!found || !found->is_object() || found->as_object().empty() || parent->find("selector")) return {};
    return {
        {.kind = Kind::Insert, .steps = spec, .text = "selector", .value = Value::object({{"matchLabels", *found}}), .before = "template"}};
}

std::vector<Edit> rename_label(const Steps& steps, const Value& document) {
    constexpr std::string_view Prefix = "beta.";
    if (steps.back() == "key") {
        const Value* key = value_at(document, steps);
        return {{.kind = Kind::Replace, .steps = steps, .text = key->as_string().substr(Prefix.size())}};
    }
    const std::string name = steps.back().substr(Prefix.size());
    const Value* selector = value_at(document, std::span(steps).first(steps.size() - 1));
    const Value* present = selector->find(name);
    if (!present) return {{.kind = Kind::Rename, .steps = steps, .text = name}};
    if (*present == *selector->find(steps.back())) return {{.kind = Kind::Remove, .steps = steps}};
    return {};
}

Value port_of_backend(const Value& port) { return Value::object({{port.is_string() ? "name" : "number", port}}); }

/// One step of writing an Ingress as in networking.k8s.io/v1; the next is found when the text is looked at again.
std::vector<Edit> renew_ingress(const Steps& steps, const Value& document) {
    const Value* value = value_at(document, steps);
    if (steps.back() == "backend") return {{.kind = Kind::Rename, .steps = steps, .text = "defaultBackend"}};
    if (steps.back() != "serviceName" && steps.back() != "servicePort")
        return {{.kind = Kind::Insert, .steps = steps, .text = "pathType", .value = "ImplementationSpecific", .before = "backend"}};
    const Steps parent(steps.begin(), steps.end() - 1);
    const Value* backend = value_at(document, parent);
    const Value *name = backend->find("serviceName"), *port = backend->find("servicePort"), *service = backend->find("service");
    if (service) {  // once it says the same, the old ones go
        const bool is_name = steps.back() == "serviceName";
        const Value* said = service->find(is_name ? "name" : "port");
        if (said && *said == (is_name ? *value : port_of_backend(*value))) return {{.kind = Kind::Remove, .steps = steps}};
        return {};
    }
    if (!name || !port) return {};
    return {{.kind = Kind::Insert,
             .steps = parent,
             .text = "service",
             .value = Value::object({{"name", *name}, {"port", port_of_backend(*port)}}),
             .before = steps.back()}};
}

std::vector<Edit> replacement(const Steps& steps, std::string text) {
    if (text.empty()) return {};
    return {{.kind = Kind::Replace, .steps = steps, .text = std::move(text)}};
}

// The text.

std::size_t line_start(std::string_view text, std::size_t at) {
    const std::size_t newline = at == 0 ? text.npos : text.rfind('\n', at - 1);
    return newline == text.npos ? 0 : newline + 1;
}
/// Behind the line break.
std::size_t next_line(std::string_view text, std::size_t at) {
    const std::size_t newline = text.find('\n', at);
    return newline == text.npos ? text.size() : newline + 1;
}
bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }
bool begins_its_line(std::string_view text, std::size_t at) {
    const std::size_t start = line_start(text, at);
    return is_blank(text.substr(start, at - start));
}

std::size_t end_of(const YamlNode& member) { return std::max(member.key.end, member.span.end); }

bool is_shared(const YamlNode& node) {
    return node.anchored || node.kind == YamlNode::Kind::Alias || std::ranges::any_of(node.children, is_shared);
}

/// The nodes from the document to the one at `steps`; empty where one of them may be meant elsewhere too.
std::vector<const YamlNode*> way_to(const YamlNode& document, std::span<const std::string> steps) {
    std::vector<const YamlNode*> way{&document};
    for (const std::string& step : steps) {
        const YamlNode* below = way.back()->anchored ? nullptr : way.back()->find(step);
        if (!below) return {};
        way.push_back(below);
    }
    return is_shared(*way.back()) ? std::vector<const YamlNode*>() : way;
}

std::vector<TextChange> remove_from_flow(const YamlNode& parent, std::size_t index, std::string_view text) {
    const YamlNode& member = parent.children[index];
    TextChange change{.begin = member.key.begin, .end = end_of(member)};
    if (index + 1 < parent.children.size())
        change.end = parent.children[index + 1].key.begin;
    else if (index > 0)
        change.begin = end_of(parent.children[index - 1]);
    const std::string_view before = text.substr(change.begin, member.key.begin - std::min(member.key.begin, change.begin));
    const std::string_view after = text.substr(end_of(member), change.end - std::min(change.end, end_of(member)));
    if (before.contains('#') || after.contains('#')) return {};
    return {change};
}

std::vector<TextChange> remove_lines(const YamlNode& parent, std::size_t index, std::string_view text) {
    const YamlNode& member = parent.children[index];
    if (begins_its_line(text, member.key.begin)) return {{line_start(text, member.key.begin), next_line(text, end_of(member)), ""}};
    // Behind the dash of a list's item: the next member takes its place.
    if (index != 0 || parent.children.size() == 1) return {};
    const std::size_t next = parent.children[1].key.begin;
    if (!is_blank(text.substr(end_of(member), next - end_of(member)))) return {};
    return {{member.key.begin, next, ""}};
}

std::vector<TextChange> removal_changes(const Edit& edit, const YamlNode& document, std::string_view text) {
    const auto way = way_to(document, edit.steps);
    if (way.size() < 2) return {};
    const YamlNode& member = *way.back();
    const YamlNode& parent = *way[way.size() - 2];
    if (parent.kind != YamlNode::Kind::Mapping) return {};
    const auto index = static_cast<std::size_t>(&member - parent.children.data());
    if (parent.flow) return remove_from_flow(parent, index, text);
    std::vector<TextChange> changes = remove_lines(parent, index, text);
    if (changes.empty() || parent.children.size() > 1) return changes;
    // A mapping that is empty now has to say so.
    if (parent.key.line == 0 || text.substr(parent.key.end, 1) != ":") return {};
    changes.insert(changes.begin(), {parent.key.end + 1, parent.key.end + 1, " {}"});
    return changes;
}

std::vector<TextChange> insertion_changes(const Edit& edit, const YamlNode& document, std::string_view text) {
    const auto way = way_to(document, edit.steps);
    if (way.empty()) return {};
    const YamlNode* next = way.back()->find(edit.before);
    if (!next) return {};
    const Value member = Value::object({{edit.text, edit.value}});
    if (way.back()->flow) {
        std::string json = schema::to_json(member);
        return {{next->key.begin, next->key.begin, json.substr(1, json.size() - 2) + ", "}};
    }
    const bool own_line = begins_its_line(text, next->key.begin);
    std::size_t at = own_line ? line_start(text, next->key.begin) : next->key.begin;
    const std::string indent(next->key.column - 1, ' ');
    const std::string line_break = text.substr(0, next_line(text, 0)).ends_with("\r\n") ? "\r\n" : "\n";
    std::string lines, rest = schema::to_yaml(member);
    for (std::size_t begin = 0; begin < rest.size();) {
        const std::size_t end = std::min(rest.find('\n', begin), rest.size());
        lines += (own_line || begin > 0 ? indent : "") + rest.substr(begin, end - begin) + line_break;
        begin = end + 1;
    }
    if (!own_line) lines += indent;
    // Comments right above belong to the member that follows them.
    while (own_line && at > 0) {
        const std::size_t above = line_start(text, at - 1);
        const std::string_view line = text.substr(above, at - above);
        if (!line.starts_with(indent + "#")) break;
        at = above;
    }
    return {{at, at, std::move(lines)}};
}

/// The scalar at `span` with another text, quoted as it was.
std::vector<TextChange> scalar_changes(const schema::YamlSpan& span, std::string_view text, const std::string& replacement) {
    const std::string_view old = text.substr(span.begin, span.end - span.begin);
    if (old.empty() || old.contains('\n') || old.front() == '!' || old.front() == '|' || old.front() == '>') return {};
    const std::string quote = old.front() == '"' || old.front() == '\'' ? std::string(1, old.front()) : "";
    return {{span.begin, span.end, quote + replacement + quote}};
}

}  // namespace

std::vector<Edit> edits_for(std::string_view code, const std::string& path, const Value& document) {
    const Steps steps = steps_of(path);
    const Value* value = value_at(document, steps);
    if (!value) return {};
    std::vector<Edit> edits;
    if (is_one_of(code, Removed)) return {removal(steps, document)};
    if (code == "WIN401") return replacement(steps, "ClusterFirst");
    if (code == "WIN602") return add_selector_of_system(steps, document);
    if (code == "WIN701") {
        const Value* object = value_at(document, std::span(steps).first(steps.size() - 1));
        return replacement(steps, std::string(current_version(value->string_or(""), object->string_at({"kind"}))));
    }
    if (code == "WIN702") return add_selector(steps, document);
    if (code == "WIN703" || code == "WIN704") return rename_label(steps, document);
    if (code == "WIN706") return replacement(steps, moved_image(value->string_or("")));
    if (code == "WIN707") return renew_ingress(steps, document);
    if (code == "WIN315" || code == "WIN316" || code == "WIN318") remove_modes(path, document, edits);
    if (code == "WIN317") remove_modes_of_sources(path, document, edits);
    return edits;
}

bool apply(const Edit& edit, Value& document) {
    const auto changeable = [&](std::span<const std::string> steps) { return const_cast<Value*>(value_at(document, steps)); };
    Value* at = changeable(edit.steps);
    Value* above = edit.steps.empty() ? nullptr : changeable(std::span(edit.steps).first(edit.steps.size() - 1));
    switch (edit.kind) {
        case Kind::Remove:
            return at && above->erase(edit.steps.back());
        case Kind::Rename: {
            if (!at || !above->is_object()) return false;
            Value moved = std::move(*at);
            above->erase(edit.steps.back());
            (*above)[edit.text] = std::move(moved);
            return true;
        }
        case Kind::Replace:
            if (at) *at = edit.text;
            return at != nullptr;
        case Kind::Insert:
            if (!at || !at->is_object() || at->find(edit.text)) return false;
            (*at)[edit.text] = edit.value;
            return true;
    }
    return false;
}

std::vector<TextChange> changes_for(const Edit& edit, const YamlNode& document, std::string_view text) {
    if (edit.kind == Kind::Remove) return removal_changes(edit, document, text);
    if (edit.kind == Kind::Insert) return insertion_changes(edit, document, text);
    const auto way = way_to(document, edit.steps);
    if (way.empty()) return {};
    return scalar_changes(edit.kind == Kind::Rename ? way.back()->key : way.back()->span, text, edit.text);
}

}  // namespace porthole::windows::lint
