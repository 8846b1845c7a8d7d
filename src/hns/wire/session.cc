#include "hns/wire/session.h"

#include <array>

#include "base/result.h"
#include "hns/guid.h"
#include "hns/hresult.h"
#include "runtime/scope.h"
#include "schema/json/json.h"

namespace porthole::hns::wire {
namespace {

constexpr Duration TokenLimit = std::chrono::seconds(10);

/// In a time that does not depend on where they differ.
bool same_secret(const std::string& left, const std::string& right) {
    unsigned difference = left.size() == right.size() ? 0 : 1;
    for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) difference |= static_cast<unsigned char>(left[i] ^ right[i]);
    return difference == 0;
}

/// The API's own argument for a new object's id goes before the document's.
Result<std::string> with_id(const std::string& settings, const std::string& id) {
    if (id.empty() || id == ZeroGuid) return settings;
    auto tree = schema::parse_json(settings);
    if (!tree || !tree->is_object()) return hresult_error(Hresult::InvalidJson);
    tree->as_object().erase_if([](const schema::Member& member) { return member.key == "ID" || member.key == "Id" || member.key == "id"; });
    (*tree)["ID"] = id;
    return schema::to_json(*tree);
}

Task<Response> call_object(Hns& hns, CallName name, Request request) {
    Response response;
    switch (name.verb) {
        case Verb::Enumerate: {
            CO_TRY(response.document, co_await hns.enumerate(name.kind, request.document));
            break;
        }
        case Verb::Create: {
            CO_TRY(std::string settings, with_id(request.document, request.id));
            CO_TRY(response.id, co_await hns.create(name.kind, request.parent, std::move(settings)));
            break;
        }
        case Verb::Open: {
            CO_TRY_VOID(co_await hns.query(name.kind, request.id, ""));
            response.id = canonical_guid(request.id);
            break;
        }
        case Verb::Query: {
            CO_TRY(response.document, co_await hns.query(name.kind, request.id, request.document));
            break;
        }
        case Verb::Modify: {
            CO_TRY_VOID(co_await hns.modify(name.kind, request.id, request.document));
            break;
        }
        case Verb::Delete: {
            CO_TRY_VOID(co_await hns.remove(name.kind, request.id));
            break;
        }
    }
    co_return response;
}

Task<Response> call(SessionContext& context, Request request) {
    if (const auto name = parse_call_name(request.call)) co_return co_await call_object(context.hns, *name, std::move(request));
    Response response;
    if (request.call == "HNSCall") {
        CO_TRY(response.document, co_await context.hns.call_v1(request.method, request.path, request.document));
    } else if (request.call == "Control" && context.control) {
        auto answer = co_await context.control(request.document);
        if (!answer && hresult_of(answer.error()) == Hresult::Ok)
            co_return hresult_error(Hresult::InvalidParameter, answer.error().message);
        CO_TRY(response.document, std::move(answer));
    } else {
        co_return hresult_error(Hresult::NotImplemented, "Unknown call " + request.call + ".");
    }
    co_return response;
}

/// Sends notifications until the service or the client goes. Both are waited for: whichever ends first ends the other.
class Subscription {
public:
    Subscription(SessionContext& context, FrameStream& frames) : context_(context), frames_(frames), scope_(context.loop) {}

    Task<> run() {
        scope_.spawn(listen());
        scope_.spawn(watch_client());
        auto sent = co_await send();
        frames_.close();
        CO_TRY_VOID(co_await scope_.close());
        co_return sent;
    }

private:
    Task<> listen() {
        auto over = co_await context_.hns.subscribe([this](const Notification& notification) { add(notification); });
        if (!over && !is_cancelled(over)) queue_.push(write_response(failure(over.error())));
        queue_.close();
        co_return {};
    }
    /// A client that does not read is not waited for.
    void add(const Notification& notification) {
        constexpr std::size_t MostWaiting = 1000;
        if (queue_.size() < MostWaiting) return queue_.push(write_notification(notification));
        queue_.close();
        frames_.close();
    }
    Task<> watch_client() {
        while (true) {
            auto frame = co_await frames_.read();
            if (!frame || !*frame) break;
        }
        queue_.close();
        co_return {};
    }
    Task<> send() {
        while (true) {
            CO_TRY(auto json, co_await queue_.next());
            if (!json) co_return {};
            CO_TRY_VOID(co_await frames_.write(*std::move(json)));
        }
    }

    SessionContext& context_;
    FrameStream& frames_;
    Channel<std::string> queue_;
    Scope scope_;
};

Task<> answer_calls(SessionContext& context, FrameStream& frames) {
    while (true) {
        CO_TRY(const auto json, co_await frames.read());
        if (!json) co_return {};
        CO_TRY(Request request, parse_request(*json));
        if (request.call == "Subscribe") {
            Subscription subscription(context, frames);
            co_return co_await subscription.run();
        }
        auto response = co_await call(context, std::move(request));
        if (is_cancelled(response)) co_return std::move(response).error();
        CO_TRY_VOID(co_await frames.write(write_response(response ? *response : failure(response.error()))));
    }
}

}  // namespace

Task<std::optional<std::string>> FrameStream::read() {
    std::array<char, 16 << 10> buffer;
    while (true) {
        CO_TRY(auto frame, reader_.next());
        if (frame) co_return std::move(frame);
        CO_TRY(const std::size_t count, co_await stream_->read(buffer));
        if (count == 0) co_return std::optional<std::string>();
        reader_.add(std::string_view(buffer.data(), count));
    }
}

Task<> FrameStream::write(std::string json) {
    if (json.size() > FrameLimit)
        co_return Error(Reason::RequestEntityTooLarge, "a document of " + std::to_string(json.size()) + " bytes is too large");
    const std::string frame = encode_frame(json);
    co_return co_await stream_->write(frame);
}

Task<> serve(SessionContext& context, std::unique_ptr<net::ByteStream> stream) {
    FrameStream frames(std::move(stream));
    CO_TRY(const auto first, co_await with_timeout(frames.read(), TokenLimit, "waiting for the token"));
    if (!first) co_return {};
    if (!same_secret(parse_token(*first), context.token)) {
        CO_TRY_VOID(co_await frames.write(write_response(failure(hresult_error(Hresult::AccessDenied)))));
        co_return Error(Reason::Unauthorized, "wrong token");
    }
    co_return co_await answer_calls(context, frames);
}

}  // namespace porthole::hns::wire
