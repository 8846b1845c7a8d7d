#include "apiserver/handlers/flagz.h"

#include "apiserver/handlers/reply.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr const char* FlagzGroup = "config.k8s.io";

/// The version of Flagz that the client takes; "" where it takes text first. Error: NotAcceptable, as when JSON is asked for as such:
/// its form is not stable, so that it has to be named.
Result<std::string> structured_version(std::string_view accept) {
    const std::vector<MediaType> clauses = parse_accept(accept);
    if (clauses.empty()) return std::string();
    for (const MediaType& clause : clauses) {
        if (clause.type == "*/*" || clause.type == "text/*" || clause.type == "text/plain") return std::string();
        const std::string_view version = clause.parameter("v");
        const bool known = version == "v1alpha1" || version == "v1beta1";
        if (clause.type == "application/json" && clause.parameter("as") == "Flagz" && clause.parameter("g") == FlagzGroup && known)
            return std::string(version);
    }
    return Error(Reason::NotAcceptable,
                 "only the following media types are accepted: text/plain, application/json;v=v1beta1;g=config.k8s.io;as=Flagz");
}

}  // namespace

Task<> serve_flagz(RequestContext& context, const std::map<std::string, std::string>& flags) {
    CO_TRY(const std::string version, structured_version(context.request.headers.get("accept")));
    if (version.empty()) {
        std::string text = "kube-apiserver flagz\n\n";
        for (const auto& [name, value] : flags) text += name + "=" + value + "\n";
        co_return co_await reply_text(context, 200, std::move(text));
    }
    Value document = Value::object({{"kind", "Flagz"},
                                    {"apiVersion", std::string(FlagzGroup) + "/" + version},
                                    {"metadata", Value::object({{"name", "kube-apiserver"}})}});
    document["flags"] = Value::object();
    for (const auto& [name, value] : flags) document["flags"][name] = value;
    co_return co_await reply_tree(context, 200, std::move(document));
}

}  // namespace porthole::apiserver
