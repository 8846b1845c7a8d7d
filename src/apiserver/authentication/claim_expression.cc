#include "apiserver/authentication/claim_expression.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr const char *Claims = "claims", *UserName = "user";

/// What expressions are compiled against.
struct Variables {
    Variables() {
        cel::ObjectType& info = types->declare("kubernetes.UserInfo");
        const cel::TypeRef text = cel::types::string(), texts = cel::types::list(text);
        info.add("username", text);
        info.add("uid", text);
        info.add("groups", texts);
        info.add("extra", cel::types::map(text, texts));
        const cel::Environment base = expression_environment().with_types(types);
        claims = base.with_variable(Claims, cel::types::map(text, cel::types::dyn()));
        user = base.with_variable(UserName, cel::types::object(info));
    }
    std::shared_ptr<cel::ObjectTypes> types = std::make_shared<cel::ObjectTypes>();
    cel::Environment claims = expression_environment(), user = claims;
};

const Variables& variables() {
    static const Variables All;
    return All;
}

Result<Expression> compile(const cel::Environment& environment, const std::string& text) {
    Expression compiled(environment, text);
    if (!compiled.compiles()) return Error(Reason::BadRequest, compiled.problem());
    return compiled;
}

Result<Expression> compile_rule(const cel::Environment& environment, const std::string& text) {
    TRY(Expression compiled, compile(environment, text));
    if (!compiled.type()->is(cel::TypeKind::Bool)) return Error(Reason::BadRequest, "must evaluate to bool");
    return compiled;
}

Error failure(const std::string& why) { return Error(Reason::Unauthorized, why); }

/// A view of `variable`.
Result<cel::Value> evaluate(const Expression& expression, const Value& variable) {
    const cel::Value bound = cel::Value::of(variable);
    ExpressionResult result = apiserver::evaluate(expression, cel::Activation().set(Claims, bound).set(UserName, bound));
    if (!result.error.empty()) return failure(result.error);
    return std::move(result.value);
}

Value list_of(const std::vector<std::string>& texts) {
    Value list = Value::array();
    for (const std::string& text : texts) list.as_array().emplace_back(text);
    return list;
}

}  // namespace

Result<ClaimExpression> ClaimExpression::mapping(const std::string& text) {
    TRY(Expression expression, compile(variables().claims, text));
    return ClaimExpression(std::move(expression));
}
Result<ClaimExpression> ClaimExpression::claim_rule(const std::string& text) {
    TRY(Expression expression, compile_rule(variables().claims, text));
    return ClaimExpression(std::move(expression));
}
Result<ClaimExpression> ClaimExpression::user_rule(const std::string& text) {
    TRY(Expression expression, compile_rule(variables().user, text));
    return ClaimExpression(std::move(expression));
}

Result<std::string> ClaimExpression::text_of(const Value& variable, std::string_view field) const {
    TRY(const cel::Value value, evaluate(expression_, variable));
    if (!value.is(cel::Kind::String)) return failure(std::string(field) + " claim expression must return a string");
    return std::string(value.as_text());
}

Result<std::vector<std::string>> ClaimExpression::texts_of(const Value& variable) const {
    TRY(const cel::Value value, evaluate(expression_, variable));
    std::vector<std::string> texts;
    if (value.is(cel::Kind::Null)) return texts;
    const bool is_list = value.is(cel::Kind::List);
    for (std::size_t i = 0; i < (is_list ? value.count() : 1); ++i) {
        const cel::Value item = is_list ? value.item(i) : value;
        if (!item.is(cel::Kind::String)) return failure("expression must return a string or a list of strings");
        if (!item.as_text().empty()) texts.emplace_back(item.as_text());
    }
    return texts;
}

Result<void> ClaimExpression::check(const Value& variable, const std::string& message) const {
    TRY(const cel::Value value, evaluate(expression_, variable));
    if (!value.is(cel::Kind::Bool)) return failure("validation expression must return a boolean");
    if (!value.as_bool()) return failure("validation expression '" + text() + "' failed: " + message);
    return {};
}

Value user_variable(const User& user) {
    Value extra = Value::object();
    for (const auto& [key, values] : user.extra) extra[key] = list_of(values);
    return Value::object({{"username", user.name}, {"uid", user.uid}, {"groups", list_of(user.groups)}, {"extra", std::move(extra)}});
}

}  // namespace porthole::apiserver
