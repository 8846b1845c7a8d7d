#include "apiserver/authentication/token_webhook.h"

#include <algorithm>

#include "apiserver/authentication/service_account_tokens.h"
#include "base/result.h"
#include "net/tls/x509.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr std::size_t MostAnswers = 4096;

std::vector<std::string> texts_at(const Value& object, const char* field) {
    std::vector<std::string> texts;
    const Value& found = schema::at(object, field);
    if (!found.is_array()) return texts;
    for (const Value& item : found.as_array())
        if (item.is_string()) texts.push_back(item.as_string());
    return texts;
}

Value audience_list(const std::vector<std::string>& texts) {
    Value list = Value::array();
    for (const std::string& text : texts) list.as_array().emplace_back(text);
    return list;
}

}  // namespace

Result<std::optional<User>> user_of_token_review(const Value& review, const std::vector<std::string>& audiences) {
    const Value& status = schema::at(review, "status");
    if (!schema::at(status, "authenticated").bool_or(false)) {
        const std::string_view error = status.string_at({"error"});
        if (!error.empty()) return Error(Reason::Unauthorized, std::string(error));
        return std::optional<User>();
    }
    // A server that does not know audiences means the API server's own.
    const auto confirmed = texts_at(status, "audiences");
    const auto wanted = [&](const std::string& one) { return std::ranges::find(audiences, one) != audiences.end(); };
    if (!confirmed.empty() && std::ranges::none_of(confirmed, wanted)) return std::optional<User>();

    const Value& info = schema::at(status, "user");
    User user{.name = std::string(info.string_at({"username"})),
              .uid = std::string(info.string_at({"uid"})),
              .groups = texts_at(info, "groups"),
              .extra = {}};
    if (user.name.empty()) return Error(Reason::Unauthorized, "the webhook names no user");
    if (const Value* extra = info.find("extra"); extra && extra->is_object())
        for (const schema::Member& member : extra->as_object()) user.extra[member.key] = texts_at(*extra, member.key.c_str());
    return std::optional(std::move(user));
}

TokenWebhookAuthenticator::TokenWebhookAuthenticator(std::unique_ptr<Webhook> webhook, TokenWebhookOptions options,
                                                     std::vector<std::string> audiences, const Clock& clock)
    : webhook_(std::move(webhook)),
      options_(std::move(options)),
      audiences_(std::move(audiences)),
      clock_(clock),
      users_(MostAnswers),
      strangers_(MostAnswers) {}

const TokenWebhookAuthenticator::Answer* TokenWebhookAuthenticator::remembered(const std::string& key) {
    for (LruMap<Answer>* answers : {&users_, &strangers_})
        if (const Answer* known = answers->find(key); known && clock_.now() < known->until) return known;
    return nullptr;
}

Task<std::optional<User>> TokenWebhookAuthenticator::authenticate(const net::HttpRequest& request) {
    const std::string token = bearer_token(request);
    if (token.empty()) co_return std::optional<User>();
    const std::string key = net::sha256(token);
    for (;;) {
        if (const Answer* known = remembered(key)) co_return known->user;
        const auto found = asked_.find(key);
        if (found == asked_.end()) break;
        const std::shared_ptr<Question> question = found->second;
        CO_TRY_VOID(co_await question->ended.wait());
        if (question->outcome) co_return *question->outcome;
    }
    const auto question = asked_[key] = std::make_shared<Question>();
    auto outcome = co_await ask(token, key);
    asked_.erase(key);
    if (!is_cancelled(outcome)) question->outcome = outcome;
    question->ended.set();
    co_return outcome;
}

Task<std::optional<User>> TokenWebhookAuthenticator::ask(std::string token, std::string key) {
    CO_TRY(const Value answer, co_await webhook_->review(
                                   Value::object({{"kind", "TokenReview"},
                                                  {"apiVersion", "authentication.k8s.io/" + options_.version},
                                                  {"spec", Value::object({{"token", token}, {"audiences", audience_list(audiences_)}})}})));
    CO_TRY(std::optional<User> user, user_of_token_review(answer, audiences_));
    if (options_.ttl > Duration::zero()) (user ? users_ : strangers_).put(key, {user, clock_.now() + options_.ttl});
    co_return user;
}

}  // namespace porthole::apiserver
