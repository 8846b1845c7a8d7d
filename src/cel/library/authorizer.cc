#include "cel/library/authorizer.h"

#include <algorithm>

#include "base/strings.h"
#include "cel/library/libraries.h"

namespace porthole::cel::authorizer_library {
namespace {

using Arguments = std::span<const Value>;

/// A question that an expression puts together step by step. One class serves the steps; the type says which.
class Asking : public Opaque {
public:
    enum class Step { Authorizer, Path, Group, Resource };

    Asking(const AuthorizationSource& source, AuthorizationQuestion question, Step step)
        : source(source), question(std::move(question)), step(step) {}
    TypeRef type() const override {
        static const TypeRef types[] = {
            types::opaque("kubernetes.authorization.Authorizer"),
            types::opaque("kubernetes.authorization.PathCheck"),
            types::opaque("kubernetes.authorization.GroupCheck"),
            types::opaque("kubernetes.authorization.ResourceCheck"),
        };
        return types[static_cast<std::size_t>(step)];
    }
    bool equals(const Opaque& other) const override { return this == &other; }

    const AuthorizationSource& source;
    AuthorizationQuestion question;
    Step step;
};

class Decision : public Opaque {
public:
    explicit Decision(AuthorizationAnswer answer) : answer(std::move(answer)) {}
    TypeRef type() const override {
        static const TypeRef type = types::opaque("kubernetes.authorization.Decision");
        return type;
    }
    bool equals(const Opaque& other) const override { return this == &other; }

    AuthorizationAnswer answer;
};

const Asking& asking(const Value& value) { return static_cast<const Asking&>(value.as_opaque()); }
const AuthorizationAnswer& answer(const Value& value) { return static_cast<const Decision&>(value.as_opaque()).answer; }

/// The question with one more part.
template <class Change>
Value next(const Value& value, Asking::Step step, Change change) {
    AuthorizationQuestion question = asking(value).question;
    change(question);
    return Value::opaque(new Asking(asking(value).source, std::move(question), step));
}

bool is_dns_name(std::string_view text, std::size_t most, bool dots) {
    if (text.empty() || text.size() > most || text.front() == '-' || text.back() == '-') return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-') continue;
        if (c != '.' || !dots || i == 0 || i + 1 == text.size() || text[i - 1] == '.' || text[i - 1] == '-' || text[i + 1] == '-')
            return false;
    }
    return true;
}

Value path(Arguments a) {
    if (trim(a[1].as_text()).empty()) return Value::error("path must not be empty");
    return next(a[0], Asking::Step::Path, [&](auto& question) { question.path = std::string(a[1].as_text()); });
}
Value service_account(Arguments a) {
    if (!is_dns_name(a[2].as_text(), 253, true)) return Value::error("Invalid service account name");
    if (!is_dns_name(a[1].as_text(), 63, false)) return Value::error("Invalid service account namespace");
    return next(a[0], Asking::Step::Authorizer, [&](auto& question) {
        question.service_account_namespace = a[1].as_text();
        question.service_account_name = a[2].as_text();
    });
}
Value group(Arguments a) {
    return next(a[0], Asking::Step::Group, [&](auto& question) { question.group = a[1].as_text(); });
}
Value resource(Arguments a) {
    if (trim(a[1].as_text()).empty()) return Value::error("resource must not be empty");
    return next(a[0], Asking::Step::Resource, [&](auto& question) { question.resource = a[1].as_text(); });
}
template <std::string AuthorizationQuestion::* Part>
Value with(Arguments a) {
    return next(a[0], Asking::Step::Resource, [&](auto& question) { question.*Part = a[1].as_text(); });
}
Value check(Arguments a) {
    AuthorizationQuestion question = asking(a[0]).question;
    question.verb = a[1].as_text();
    return Value::opaque(new Decision(asking(a[0]).source.authorize(question)));
}
Value allowed(Arguments a) { return Value::boolean(answer(a[0]).allowed); }
Value reason(Arguments a) { return Value::string(answer(a[0]).reason); }
Value error(Arguments a) { return Value::string(answer(a[0]).error); }
Value errored(Arguments a) { return Value::boolean(!answer(a[0]).error.empty()); }

constexpr LibraryFunction Table[] = {
    {"authorizer_path = kubernetes.authorization.Authorizer.path(string) -> kubernetes.authorization.PathCheck", path},
    {"authorizer_group = kubernetes.authorization.Authorizer.group(string) -> kubernetes.authorization.GroupCheck", group},
    {"authorizer_serviceaccount = kubernetes.authorization.Authorizer.serviceAccount(string, string) -> "
     "kubernetes.authorization.Authorizer",
     service_account},
    {"groupcheck_resource = kubernetes.authorization.GroupCheck.resource(string) -> kubernetes.authorization.ResourceCheck", resource},
    {"resourcecheck_subresource = kubernetes.authorization.ResourceCheck.subresource(string) -> kubernetes.authorization.ResourceCheck",
     with<&AuthorizationQuestion::subresource>},
    {"resourcecheck_namespace = kubernetes.authorization.ResourceCheck.namespace(string) -> kubernetes.authorization.ResourceCheck",
     with<&AuthorizationQuestion::namespace_name>},
    {"resourcecheck_name = kubernetes.authorization.ResourceCheck.name(string) -> kubernetes.authorization.ResourceCheck",
     with<&AuthorizationQuestion::name>},
    {"pathcheck_check = kubernetes.authorization.PathCheck.check(string) -> kubernetes.authorization.Decision", check},
    {"resourcecheck_check = kubernetes.authorization.ResourceCheck.check(string) -> kubernetes.authorization.Decision", check},
    {"decision_allowed = kubernetes.authorization.Decision.allowed() -> bool", allowed},
    {"decision_reason = kubernetes.authorization.Decision.reason() -> string", reason},
    {"decision_error = kubernetes.authorization.Decision.error() -> string", error},
    {"decision_errored = kubernetes.authorization.Decision.errored() -> bool", errored},
};
constexpr LibraryFunction Selectors[] = {
    {"authorizer_fieldselector = kubernetes.authorization.ResourceCheck.fieldSelector(string) -> kubernetes.authorization.ResourceCheck",
     with<&AuthorizationQuestion::field_selector>},
    {"authorizer_labelselector = kubernetes.authorization.ResourceCheck.labelSelector(string) -> kubernetes.authorization.ResourceCheck",
     with<&AuthorizationQuestion::label_selector>},
};

}  // namespace
}  // namespace porthole::cel::authorizer_library

namespace porthole::cel {

TypeRef authorizer_type() { return types::opaque("kubernetes.authorization.Authorizer"); }
TypeRef resource_check_type() { return types::opaque("kubernetes.authorization.ResourceCheck"); }
Value make_authorizer(const AuthorizationSource& source) {
    return Value::opaque(new authorizer_library::Asking(source, {}, authorizer_library::Asking::Step::Authorizer));
}
Value make_resource_check(const AuthorizationSource& source, AuthorizationQuestion question) {
    return Value::opaque(new authorizer_library::Asking(source, std::move(question), authorizer_library::Asking::Step::Resource));
}

std::span<const LibraryFunction> authorizer_functions() { return authorizer_library::Table; }
std::span<const LibraryFunction> authorizer_selector_functions() { return authorizer_library::Selectors; }

}  // namespace porthole::cel
