// Bearer tokens and the continue tokens of lists. The key takes every signature for its own, so that what stands behind the
// signature is read as well; a key that takes none lets nobody in.
#include <cstdint>
#include <cstdlib>

#include "api/core_v1.h"
#include "apiserver/authentication/service_account_tokens.h"
#include "apiserver/resources/continue_token.h"
#include "base/base64.h"
#include "runtime/sim/sim_loop.h"
#include "store/memory/memory_engine.h"

using namespace porthole;
using namespace porthole::apiserver;

namespace {

const std::vector<std::string> Audiences{"https://kubernetes.default.svc"};

TokenKey key(bool trusting) {
    return {.algorithm = "ES256",
            .id = "k",
            .jwk = {},
            .sign = [](std::string_view) { return Result<std::string>("s"); },
            .verify = [trusting](std::string_view, std::string_view) { return trusting; }};
}

/// A server that knows one account and one pod.
class World {
public:
    World() {
        store::Store::Seams seams{loop_, pool_, Logger(make_null_sink(), "store")};
        store_ = std::move(*store::Store::open(std::move(seams), std::make_unique<store::MemoryEngine>(disk_), {}, {}));
        api::core::v1::ServiceAccount account;
        account.metadata.name = "robot";
        account.metadata.namespace_ = "a";
        account.metadata.uid = "uid-robot";
        api::core::v1::Pod pod;
        pod.metadata.name = "web";
        pod.metadata.namespace_ = "a";
        pod.metadata.uid = "uid-web";
        put(account);
        put(pod);
        reader_.emplace(*store_);
    }
    std::optional<User> verified(std::string_view token, bool trusting) {
        const ServiceAccountTokens tokens({key(trusting)}, {.issuers = {Audiences.front()}, .api_audiences = Audiences}, *reader_, loop_,
                                          random_);
        auto found = tokens.verify(token, Audiences);
        return found && *found ? std::optional(std::move((*found)->user)) : std::nullopt;
    }

private:
    template <class T>
    void put(const T& object) {
        store::Put put;
        put.key = object_key(T::kind(), object.metadata.namespace_, object.metadata.name);
        put.value = schema::encode_json(object);
        store::Transaction transaction;
        transaction.operations.push_back(std::move(put));
        if (!sim::run(loop_, store_->commit(std::move(transaction)))) std::abort();
    }

    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
    store::MemoryDisk disk_;
    std::unique_ptr<store::Store> store_;
    std::optional<ObjectReader> reader_;
    SeededRandom random_{7};
};

void continue_token(std::string_view text) {
    const auto token = ContinueToken::parse(text, "/pods/");
    if (!token) return;
    const auto again = ContinueToken::parse(token->text("/pods/"), "/pods/");
    if (!again || again->revision != token->revision || again->start_key != token->start_key) std::abort();
    if (!token->start_key.starts_with("/pods/")) std::abort();
    if (!ContinueToken::of_the_present(text)) std::abort();
}

}  // namespace

/// The input is a token as it comes, and the claims of one whose header and signature are in order.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static World& world = *new World;  // as long as the process
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    continue_token(text);
    static_cast<void>(ContinueToken::parse(encode_base64url(text), "/pods/"));
    const std::string signed_token = encode_base64url(R"({"alg":"ES256","kid":"k"})") + "." + encode_base64url(text) + ".cw";
    if (world.verified(text, false) || world.verified(signed_token, false)) std::abort();
    for (const std::string_view token : {text, std::string_view(signed_token)}) {
        const auto user = world.verified(token, true);
        if (user && user->name != "system:serviceaccount:a:robot") std::abort();
    }
    net::HttpRequest request;
    request.headers.add("authorization", std::string(text));
    request.headers.add("sec-websocket-protocol", std::string(text));
    static_cast<void>(bearer_token(request));
    return 0;
}
