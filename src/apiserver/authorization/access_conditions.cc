#include "apiserver/authorization/access_conditions.h"

#include "base/strings.h"

namespace porthole::apiserver {
namespace {

constexpr const char* Request = "request";
constexpr double Buckets[] = {0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25};

/// `request` and its types.
struct RequestDeclaration {
    RequestDeclaration() {
        const cel::TypeRef text = cel::types::string(), texts = cel::types::list(text);
        const auto declare = [&](const std::string& name, std::initializer_list<const char*> strings) -> cel::ObjectType& {
            cel::ObjectType& type = types->declare("kubernetes." + name);
            for (const char* field : strings) type.add(field, text);
            return type;
        };
        cel::ObjectType& requirement = declare("SelectorRequirement", {"key", "operator"});
        requirement.add("values", texts);
        cel::ObjectType& resource =
            declare("ResourceAttributes", {"namespace", "verb", "group", "version", "resource", "subresource", "name"});
        for (const auto& [field, name] :
             {std::pair("fieldSelector", "FieldSelectorAttributes"), std::pair("labelSelector", "LabelSelectorAttributes")}) {
            cel::ObjectType& selector = declare(name, {"rawSelector"});
            selector.add("requirements", cel::types::list(cel::types::object(requirement)));
            resource.add(field, cel::types::object(selector));
        }
        cel::ObjectType& spec = declare("SubjectAccessReviewSpec", {"user", "uid"});
        spec.add("groups", texts);
        spec.add("extra", cel::types::map(text, texts));
        spec.add("resourceAttributes", cel::types::object(resource));
        spec.add("nonResourceAttributes", cel::types::object(declare("NonResourceAttributes", {"path", "verb"})));
        type = cel::types::object(spec);
        environment = expression_environment().with_types(types).with_variable(Request, type);
    }
    std::shared_ptr<cel::ObjectTypes> types = std::make_shared<cel::ObjectTypes>();
    cel::TypeRef type;
    cel::Environment environment = expression_environment();
};

const RequestDeclaration& declaration() {
    static const RequestDeclaration One;
    return One;
}

}  // namespace

Result<void> AccessConditions::add(const std::string& expression) {
    Expression compiled(declaration().environment, expression, {cel::types::boolean()});
    if (!compiled.compiles()) return Error(Reason::BadRequest, compiled.problem());
    expressions_.push_back(std::move(compiled));
    return {};
}

Result<bool> AccessConditions::match(const schema::Value& request) const {
    // The type is needed beside the value: `namespace` is a reserved word, which expressions write as `__namespace__`.
    const cel::Activation activation = cel::Activation().set(Request, cel::Value::of(request, declaration().type.get()));
    std::vector<std::string> failures;
    for (const Expression& expression : expressions_) {
        const ExpressionResult result = evaluate(expression, activation);
        if (!result.error.empty()) {
            failures.push_back("cel evaluation error: " + result.error);
        } else if (!result.value.is_true()) {
            return false;
        }
    }
    if (failures.empty()) return true;
    return Error(Reason::InternalError, failures.size() == 1 ? failures.front() : "[" + join(failures, ", ") + "]");
}

void AccessConditionMetrics::add(const std::string& authorizer, Duration taken, const Result<bool>& outcome) {
    Counts& counts = authorizers_.try_emplace(authorizer, Counts{MetricHistogram(Buckets)}).first->second;
    counts.times.add(std::chrono::duration<double>(taken).count());
    if (!outcome) ++counts.errors;
    if (outcome && !*outcome) ++counts.exclusions;
}

void AccessConditionMetrics::append(std::string& out) const {
    if (authorizers_.empty()) return;
    const auto labels = [](const std::string& name) { return metric_label("name", name) + ',' + metric_label("type", "Webhook"); };
    const auto counter = [&](const char* name, const char* help, std::uint64_t Counts::* count) {
        const MetricFamily family(out, std::string("apiserver_authorization_match_condition_") + name, "counter", help);
        for (const auto& [authorizer, counts] : authorizers_)
            if (counts.*count > 0) family.add(labels(authorizer), counts.*count);
    };
    counter("evaluation_errors_total", "Questions whose match conditions could not be evaluated.", &Counts::errors);
    counter("exclusions_total", "Questions that match conditions kept from an authorization webhook.", &Counts::exclusions);
    const MetricFamily family(out, "apiserver_authorization_match_condition_evaluation_seconds", "histogram",
                              "Time of evaluating match conditions.");
    for (const auto& [authorizer, counts] : authorizers_) counts.times.append(family, labels(authorizer));
}

}  // namespace porthole::apiserver
