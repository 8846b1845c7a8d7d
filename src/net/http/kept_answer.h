#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "net/http/http.h"

namespace porthole::net {

/// A responder for tests that stores the answer, whole or streamed. It has no connection to upgrade.
struct KeptAnswer : HttpResponder {
    Task<> respond(int with, Headers of, std::vector<Bytes> parts) override {
        code = with;
        headers = std::move(of);
        for (const Bytes& part : parts) body += *part;
        ended = true;
        co_return {};
    }
    Task<> start(int with, Headers of) override {
        code = with;
        headers = std::move(of);
        co_return {};
    }
    Task<> write(Bytes chunk) override {
        body += *chunk;
        longest_chunk = std::max(longest_chunk, chunk->size());
        co_return {};
    }
    Task<> finish(Headers) override {
        ended = true;
        co_return {};
    }
    Task<std::unique_ptr<ByteStream>> upgrade(Headers) override { co_return Error(Reason::BadRequest, "no upgrade"); }
    bool started() const override { return code != 0; }

    int code = 0;
    Headers headers;
    std::string body;
    bool ended = false;
    std::size_t longest_chunk = 0;  ///< of a streamed answer
};

}  // namespace porthole::net
