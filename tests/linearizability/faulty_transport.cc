#include "linearizability/faulty_transport.h"

#include "schema/json/json.h"

namespace porthole::linearizability {
namespace {

net::Bytes bytes_of(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

}  // namespace

class FaultyTransport::Stream final : public client::ApiStream {
public:
    Stream(FaultyTransport& owner, std::unique_ptr<client::ApiStream> stream) : owner_(owner), stream_(std::move(stream)) {}
    Task<std::optional<net::Bytes>> next() override {
        for (;;) {
            if (again_) co_return std::exchange(again_, nullptr);
            CO_TRY(const auto event, co_await stream_->next());
            if (!event) co_return event;
            const bool deleted = (*event)->find(R"("type":"DELETED")") != std::string::npos;
            if (owner_.fault_ == ServerFault::MissingDelete && deleted && owner_.strikes()) continue;
            if (owner_.fault_ == ServerFault::DoubledEvent && owner_.strikes()) again_ = *event;
            co_return event;
        }
    }

private:
    FaultyTransport& owner_;
    std::unique_ptr<client::ApiStream> stream_;
    net::Bytes again_;
};

Task<client::ApiResponse> FaultyTransport::call(client::ApiRequest request) {
    const std::string path = request.path, method = request.method;
    if (fault_ == ServerFault::LostUpdate && method == "PUT") {
        CO_TRY(schema::Value object, schema::parse_json(request.body));
        if (schema::Value* metadata = object.find("metadata")) metadata->erase("resourceVersion");
        request.body = schema::to_json(object);
    }
    if (fault_ == ServerFault::ForgottenDelete && method == "DELETE" && strikes()) {
        request.method = "GET";
        request.body.clear();
        co_return co_await server_.call(std::move(request));
    }
    if (fault_ == ServerFault::LostWrite && method == "PUT" && strikes()) {
        // As if it had been written: what was sent comes back, with the revision of what is there.
        client::ApiRequest read{.method = "GET", .path = path};
        std::string body = request.body;
        CO_TRY(client::ApiResponse answer, co_await server_.call(std::move(read)));
        if (answer.code == 200) {
            CO_TRY(schema::Value stored, schema::parse_json(*answer.body));
            CO_TRY(schema::Value sent, schema::parse_json(body));
            sent["metadata"] = schema::at(stored, "metadata");
            answer.body = bytes_of(schema::to_json(sent));
        }
        co_return answer;
    }
    CO_TRY(client::ApiResponse answer, co_await server_.call(std::move(request)));
    if (fault_ == ServerFault::StaleRead && method == "GET" && answer.code == 200) {
        const auto known = earlier_.find(path);
        if (known == earlier_.end()) {
            earlier_[path] = answer;
        } else if (strikes()) {
            std::swap(known->second, answer);
        }
    }
    co_return answer;
}

Task<std::unique_ptr<client::ApiStream>> FaultyTransport::watch(client::ApiRequest request) {
    CO_TRY(auto stream, co_await server_.watch(std::move(request)));
    co_return std::make_unique<Stream>(*this, std::move(stream));
}

}  // namespace porthole::linearizability
