#include "windows/lint/check.h"

#include <algorithm>
#include <tuple>

#include "schema/convert.h"
#include "schema/json/json.h"
#include "schema/yaml/yaml.h"
#include "schema/yaml/yaml_outline.h"
#include "windows/inference.h"
#include "windows/lint/edits.h"
#include "windows/lint/objects.h"
#include "windows/manifest_rules.h"
#include "windows/support.h"

namespace porthole::windows::lint {
namespace {

using schema::Value;
using schema::YamlNode;

constexpr Systems BothSystems{.linux = true, .windows = true};

std::string_view without_blanks(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first == text.npos ? "" : text.substr(first);
}

Annotations annotations_of(const Value& object, std::string_view pod) {
    Annotations found;
    const Value* all = value_at(object, std::string(pod.substr(0, pod.size() - std::string_view("spec").size())) + "metadata.annotations");
    if (!all || !all->is_object()) return found;
    for (const schema::Member& one : all->as_object())
        if (one.value.is_string()) found.emplace(one.key, one.value.as_string());
    return found;
}

void collect_class(const Value& object, ClassSelectors& classes) {
    if (object.string_at({"kind"}) != "RuntimeClass" || !object.string_at({"apiVersion"}).starts_with("node.k8s.io/")) return;
    const Value* selector = object.at_path({"scheduling", "nodeSelector"});
    if (!selector || !selector->is_object()) return;
    auto& labels = classes[std::string(object.string_at({"metadata", "name"}))];
    for (const schema::Member& one : selector->as_object())
        if (one.value.is_string()) labels.emplace(one.key, one.value.as_string());
}

/// Checks the objects of one text.
class Checker {
public:
    Checker(const Options& options, const ClassSelectors& classes) : options_(options), classes_(classes) {}

    void check(const Object& object, const Value& document, std::size_t index) {
        object_ = &object;
        document_ = &document;
        index_ = index;
        because_.clear();
        for (const ManifestRule& one : manifest_rules())
            for (const std::string& field : one.find(*object.value, object.pod)) {
                add(one.rule, field);
                if (one.why) problems_.back().words += ": " + one.why(*value_at(*object.value, field));
            }
        if (!object.pod.empty()) check_pod();
        if (object.value->string_at({"kind"}) == "Service" && object.value->string_at({"apiVersion"}) == "v1") check_service();
    }
    std::vector<Problem> take() { return std::move(problems_); }

private:
    Conditions conditions() const {
        return {.systems = BothSystems, .build = options_.build, .network = options_.network, .runtime = options_.runtime};
    }

    void check_pod() {
        const auto spec = schema::from_value<core::PodSpec>(*value_at(*object_->value, object_->pod));
        if (!spec) return add_unreadable(object_->pod, spec.error().message);
        const InferredSystem inferred = infer_system(*spec, object_->pod, classes_);
        const std::string& system = inferred.system.empty() ? options_.system : inferred.system;
        for (const Finding& one : find_placement(*spec, object_->pod, BothSystems))
            if (!spec->os ? !inferred.decides && options_.system.empty() : true) add(*one.rule, one.field);
        if (system == "windows") because_ = inferred.system.empty() ? "--os is windows" : inferred.reason;
        for (const Finding& one : find(*spec, annotations_of(*object_->value, object_->pod), object_->pod, conditions()))
            if (system == "windows" || one.on_every_system) add(*one.rule, one.field);
    }

    void check_service() {
        if (options_.system == "linux") return;
        const auto service = schema::from_value<core::Service>(*object_->value);
        if (!service) return add_unreadable("spec", service.error().message);
        for (const Finding& one : find(*service, conditions())) add(*one.rule, one.field);
    }

    void add_unreadable(const std::string& field, const std::string& why) {
        add(unreadable_rule(), field);
        problems_.back().words += ": " + why;
    }

    void add(const Rule& rule, const std::string& field) {
        Problem problem{.rule = &rule,
                        .field = field,
                        .words = std::string(rule.words),
                        .remedy = std::string(rule.remedy),
                        .object = name_of(*object_->value),
                        .because = because_,
                        .document = index_,
                        .path = joined(object_->path, field)};
        problem.fixable = !edits_for(rule.code, problem.path, *document_).empty();
        problems_.push_back(std::move(problem));
    }

    const Options& options_;
    const ClassSelectors& classes_;
    const Object* object_ = nullptr;
    const Value* document_ = nullptr;
    std::size_t index_ = 0;
    std::string because_;
    std::vector<Problem> problems_;
};

/// The characters between two bytes.
std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// A field that is not there has the place of what should contain it.
Place place_of(std::string_view text, const YamlNode& document, const std::string& path) {
    const YamlNode* at = &document;
    for (const std::string& step : steps_of(path)) {
        const YamlNode* below = at->find(step);
        if (!below) break;
        at = below;
    }
    const bool is_member = at->key.line != 0;
    const schema::YamlSpan& from = is_member ? at->key : at->span;
    std::string_view marked = text.substr(from.begin, std::max(at->span.end, from.end) - from.begin);
    if (is_member && marked.contains('\n')) marked = text.substr(from.begin, from.end - from.begin);
    return {from.line, from.column, std::max<std::size_t>(characters(marked.substr(0, marked.find_first_of("\r\n"))), 1)};
}

void place(std::string_view text, std::vector<Problem>& problems) {
    const auto outline = problems.empty() ? std::vector<YamlNode>() : schema::outline_yaml(text);
    if (!outline) return;  // JSON that is not YAML
    for (Problem& one : problems)
        if (one.document < outline->size()) one.place = place_of(text, (*outline)[one.document], one.path);
}

}  // namespace

Result<std::vector<Value>> parse(std::string_view text) {
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
        return Error(Reason::BadRequest, "is in UTF-16, as PowerShell's > writes it: save it as UTF-8");
    if (without_blanks(text).starts_with('{'))
        if (auto object = schema::parse_json(text)) return std::vector<Value>{*std::move(object)};
    auto documents = schema::parse_yaml_documents(text);
    if (documents) return documents;
    std::string why = documents.error().message;
    if (const std::string_view prefix = "error converting YAML to JSON: yaml: "; why.starts_with(prefix)) why.erase(0, prefix.size());
    if (text.contains("{{")) why += "; if it is a Helm template, lint the output of `helm template`";
    return Error(Reason::BadRequest, std::move(why));
}

Result<Checked> check(std::string_view text, const Options& options) {
    TRY(const std::vector<Value> documents, parse(text));
    std::vector<std::vector<Object>> objects;
    ClassSelectors classes;
    Checked checked;
    for (const Value& document : documents) {
        objects.push_back(objects_in(document));
        for (const Object& one : objects.back()) collect_class(*one.value, classes);
        checked.objects += objects.back().size();
        checked.others += objects.back().empty() && document.string_at({"kind"}).empty();
    }
    Checker checker(options, classes);
    for (std::size_t i = 0; i < documents.size(); ++i)
        for (const Object& one : objects[i]) checker.check(one, documents[i], i);
    checked.problems = checker.take();
    place(text, checked.problems);
    std::ranges::sort(checked.problems, {}, [](const Problem& one) {
        return std::tuple(one.document, one.place.line, one.place.column, one.rule->code, std::string_view(one.path));
    });
    return checked;
}

}  // namespace porthole::windows::lint
