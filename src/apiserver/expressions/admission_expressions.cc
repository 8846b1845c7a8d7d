#include "apiserver/expressions/admission_expressions.h"

#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using cel::ObjectType;
using cel::TypeKind;
using cel::TypeRef;

constexpr const char* VariablesType = "kubernetes.variables";

/// Of nested expressions, all together, while variables are evaluated: each level takes some kilobytes of the stack.
constexpr std::size_t DeepestVariables = 1000, DepthOfVariable = 4;

struct FieldOf {
    const char* name;
    TypeRef type;
};

TypeRef object_type(cel::ObjectTypes& types, const std::string& name, const std::vector<FieldOf>& fields) {
    ObjectType& made = types.declare(name);
    for (const FieldOf& field : fields) made.add_named(field.name, field.name, field.type, true);
    return cel::types::object(made);
}

/// The types of `request` and `namespaceObject`, with the fields that upstream declares.
class FixedTypes {
public:
    static const FixedTypes& get() {
        static const FixedTypes types;
        return types;
    }
    TypeRef request, namespace_object;

private:
    FixedTypes() {
        const TypeRef text = cel::types::string(), texts = cel::types::list(text), text_map = cel::types::map(text, text);
        const TypeRef time = cel::types::timestamp();
        const TypeRef kind = object_type(types_, "kubernetes.GroupVersionKind", {{"group", text}, {"version", text}, {"kind", text}});
        const TypeRef resource =
            object_type(types_, "kubernetes.GroupVersionResource", {{"group", text}, {"version", text}, {"resource", text}});
        const TypeRef user = object_type(types_, "kubernetes.UserInfo",
                                         {{"username", text}, {"uid", text}, {"groups", texts}, {"extra", cel::types::map(text, texts)}});
        request = object_type(types_, "kubernetes.AdmissionRequest",
                              {{"kind", kind},
                               {"resource", resource},
                               {"subResource", text},
                               {"requestKind", kind},
                               {"requestResource", resource},
                               {"requestSubResource", text},
                               {"name", text},
                               {"namespace", text},
                               {"operation", text},
                               {"userInfo", user},
                               {"dryRun", cel::types::boolean()},
                               {"options", cel::types::dyn()}});
        const TypeRef spec = object_type(types_, "kubernetes.NamespaceSpec", {{"finalizers", texts}});
        const TypeRef condition =
            object_type(types_, "kubernetes.NamespaceCondition",
                        {{"status", text}, {"type", text}, {"lastTransitionTime", time}, {"message", text}, {"reason", text}});
        const TypeRef status =
            object_type(types_, "kubernetes.NamespaceStatus", {{"conditions", cel::types::list(condition)}, {"phase", text}});
        const TypeRef metadata = object_type(types_, "kubernetes.NamespaceMetadata",
                                             {{"name", text},
                                              {"generateName", text},
                                              {"namespace", text},
                                              {"labels", text_map},
                                              {"annotations", text_map},
                                              {"UID", text},
                                              {"creationTimestamp", time},
                                              {"deletionGracePeriodSeconds", cel::types::integer()},
                                              {"deletionTimestamp", time},
                                              {"generation", cel::types::integer()},
                                              {"resourceVersion", text},
                                              {"finalizers", texts}});
        namespace_object = object_type(types_, "kubernetes.Namespace", {{"metadata", metadata}, {"spec", spec}, {"status", status}});
    }
    cel::ObjectTypes types_;
};

/// What a variable's type is for those that use it: scalars, and lists and maps of them; all else is dyn.
TypeRef variable_type(const TypeRef& type) {
    switch (type->kind) {
        case TypeKind::Bool:
        case TypeKind::Bytes:
        case TypeKind::Double:
        case TypeKind::Duration:
        case TypeKind::Int:
        case TypeKind::Null:
        case TypeKind::String:
        case TypeKind::Timestamp:
        case TypeKind::Uint:
            return type;
        case TypeKind::List:
            return cel::types::list(variable_type(type->parameters[0]));
        case TypeKind::Map:
            return cel::types::map(variable_type(type->parameters[0]), variable_type(type->parameters[1]));
        default:
            return cel::types::dyn();
    }
}

cel::Value value_of(const schema::Value* tree, const TypeRef& type = nullptr) {
    return tree && !tree->is_null() ? cel::Value::of(*tree, type.get()) : cel::Value();
}

}  // namespace

AdmissionCompiler::AdmissionCompiler()
    : types_(std::make_shared<cel::ObjectTypes>()), base_(expression_environment()), params_type_(cel::types::dyn()) {
    base_ = base_.with_types(types_)
                .with_variable("request", FixedTypes::get().request)
                .with_variable("namespaceObject", FixedTypes::get().namespace_object);
    assume(nullptr, nullptr);
}

void AdmissionCompiler::assume(TypeRef object, TypeRef params) {
    if (!object) object = cel::types::dyn();
    base_ = base_.with_variable("object", object).with_variable("oldObject", object);
    params_type_ = params ? std::move(params) : cel::types::dyn();
}

void AdmissionCompiler::allow_patches() {
    types_->declare_open("Object");
    const TypeRef text = cel::types::string();
    object_type(*types_, "JSONPatch", {{"op", text}, {"path", text}, {"from", text}, {"value", cel::types::dyn()}});
}

cel::Environment AdmissionCompiler::environment(AdmissionNames names) const {
    cel::Environment environment = base_;
    if (names.params) environment = environment.with_variable("params", params_type_);
    if (names.authorizer) {
        environment = environment.with_variable("authorizer", cel::authorizer_type())
                          .with_variable("authorizer.requestResource", cel::resource_check_type());
    }
    return environment;
}

const Expression& AdmissionCompiler::add_variable(const std::string& name, const std::string& text, AdmissionNames names) {
    if (variables_.empty()) base_ = base_.with_variable("variables", cel::types::object(types_->declare(VariablesType)));
    const Expression& added = variables_.insert_or_assign(name, Expression(environment(names), text, {}, work_)).first->second;
    types_->declare(VariablesType).add_named(name, name, variable_type(added.type()), true);
    return added;
}

Expression AdmissionCompiler::compile(const std::string& text, AdmissionNames names, std::initializer_list<TypeRef> results) const {
    return Expression(environment(names), text, results, work_);
}

TypeRef apply_configuration_type() {
    static const ObjectType type{.name = "Object"};
    return cel::types::object(type);
}

TypeRef json_patch_list_type() {
    static const ObjectType type{.name = "JSONPatch"};
    return cel::types::list(cel::types::object(type));
}

AdmissionScope::AdmissionScope(const AdmissionInput& input, const NamedExpressions& variables, CostBudget& budget)
    : variables_(variables), budget_(budget) {
    activation_.set("object", value_of(input.object))
        .set("oldObject", value_of(input.old_object))
        .set("request", value_of(input.request, FixedTypes::get().request))
        .set("namespaceObject", value_of(input.namespace_object, FixedTypes::get().namespace_object))
        .set("params", value_of(input.params));
    if (input.authorizer) {
        activation_.set("authorizer", cel::make_authorizer(*input.authorizer))
            .set("authorizer.requestResource", cel::make_resource_check(*input.authorizer, input.request_resource));
    }
    activation_.set("variables", cel::Value::lazy_object(*this));
}

const TypeRef& AdmissionScope::type() const {
    static const ObjectType object{.name = VariablesType};
    static const TypeRef type = cel::types::object(object);
    return type;
}

std::optional<cel::Value> AdmissionScope::field(std::string_view name) const {
    if (const auto made = values_.find(name); made != values_.end()) return made->second;
    const auto found = variables_.find(name);
    if (found == variables_.end()) return {};
    return values_.insert_or_assign(found->first, evaluate_variable(found->first, found->second)).first->second;
}

cel::Value AdmissionScope::evaluate_variable(const std::string& name, const Expression& expression) const {
    const std::string what = "composited variable " + quote(name);
    if (!expression.compiles()) return cel::Value::error(what + " fails to compile: " + expression.problem());
    // Each is evaluated on top of the one that reads it.
    const std::size_t depth = expression.program().depth() + DepthOfVariable;
    if (depth_ + depth > DeepestVariables) return cel::Value::error(what + " fails to evaluate: variables refer to too many others");
    depth_ += depth;
    const cel::Evaluation done = expression.program().evaluate(activation_, {.cost_limit = budget_.limit(), .work = &budget_.work()});
    depth_ -= depth;
    budget_.owed += done.cost;
    if (done.value.is_error()) return cel::Value::error(what + " fails to evaluate: " + std::string(done.value.as_text()));
    return done.value;
}

}  // namespace porthole::apiserver
