#include "apiserver/outgoing/webhook.h"

#include <algorithm>

#include "base/result.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr int Attempts = 5;
constexpr double Growth = 1.5, Jitter = 0.2;
constexpr std::size_t AnswerDepth = 64;
constexpr std::size_t WaitingOfCalls = 4;  ///< how many times as many reviews may wait as may be in progress

bool is_passing(const Result<net::HttpResponse>& answer) {
    if (!answer) return answer.error().reason == Reason::Unavailable || answer.error().reason == Reason::Io;
    return answer->code == 429 || answer->code == 500 || (answer->code >= 502 && answer->code <= 504);
}

/// Counts while it lives.
class Counted {
public:
    explicit Counted(std::size_t& count) : count_(count) { ++count_; }
    ~Counted() { --count_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

private:
    std::size_t& count_;
};

}  // namespace

Result<Value> parse_review_answer(std::string_view body, const Value& review) {
    auto answer = schema::parse_json(body, {.depth = AnswerDepth});
    if (!answer) return Error(Reason::InternalError, "the webhook's answer is not JSON: " + answer.error().message);
    for (const char* field : {"apiVersion", "kind"}) {
        if (answer->string_at({field}) != review.string_at({field}))
            return Error(Reason::InternalError,
                         "the webhook's answer is not of " + std::string(field) + " " + std::string(review.string_at({field})));
    }
    return std::move(*answer);
}

/// A call in progress; whoever waits looks again at its end.
class Webhook::Call {
public:
    Call(Webhook& webhook, std::string user) : webhook_(webhook), user_(std::move(user)) {
        ++webhook_.in_progress_;
        ++webhook_.by_user_[user_];
    }
    ~Call() {
        --webhook_.in_progress_;
        if (--webhook_.by_user_[user_] == 0) webhook_.by_user_.erase(user_);
        webhook_.turns_.wake_all({});
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

private:
    Webhook& webhook_;
    const std::string user_;
};

bool Webhook::has_room_for(const std::string& user) const {
    if (in_progress_ >= settings_.calls) return false;
    const auto own = by_user_.find(user);
    return user.empty() || own == by_user_.end() || own->second < std::max<std::size_t>(settings_.calls / 4, 1);
}

/// The call counts at once, so that those who are woken with this one do not take the same place.
Task<std::unique_ptr<Webhook::Call>> Webhook::wait_for_turn(std::string user) {
    while (!has_room_for(user)) CO_TRY_VOID(co_await turns_.wait());
    co_return std::make_unique<Call>(*this, std::move(user));
}

Task<Value> Webhook::review(Value review, std::string user) {
    std::unique_ptr<Call> call;
    if (has_room_for(user)) {
        call = std::make_unique<Call>(*this, std::move(user));
    } else {
        const Error busy(Reason::TooManyRequests, "too many calls to the webhook are in progress");
        if (waiting_ >= settings_.calls * WaitingOfCalls) co_return busy;
        const Counted counted(waiting_);
        auto turn = co_await with_timeout(wait_for_turn(std::move(user)), settings_.limits.time, "turn");
        if (is_cancelled(turn)) co_return std::move(turn).error();
        if (!turn) co_return busy;
        call = *std::move(turn);
    }
    co_return co_await with_timeout(attempts(std::make_shared<const Value>(std::move(review))), settings_.limits.time, "webhook");
}

Task<Value> Webhook::attempts(std::shared_ptr<const Value> review) {
    Duration wait = settings_.first_wait;
    for (int attempt = 1;; ++attempt) {
        net::HttpRequest request{.method = "POST", .body = schema::to_json(*review)};
        request.headers.add("content-type", "application/json");
        request.headers.add("accept", "application/json");
        auto answer = co_await client_->send(std::move(request), settings_.limits);
        if (!is_passing(answer) || attempt == Attempts) {
            if (!answer) co_return std::move(answer).error();
            if (answer->code < 200 || answer->code >= 300)
                co_return Error(Reason::InternalError, "Error contacting webhook: " + std::to_string(answer->code));
            co_return parse_review_answer(answer->body, *review);
        }
        const double stretched = static_cast<double>(wait.count()) * (1 + Jitter * random_.fraction());
        CO_TRY_VOID(co_await loop_.sleep(Duration(static_cast<Duration::rep>(stretched))));
        wait = Duration(static_cast<Duration::rep>(static_cast<double>(wait.count()) * Growth));
    }
}

}  // namespace porthole::apiserver
