#include "net/http/http1_parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <stdexcept>

#include "base/strings.h"
#include "net/http/http_status.h"

namespace porthole::net {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;
using BeastView = boost::beast::string_view;

/// Beast's callbacks, filling an Http1Parser.
template <bool IsRequest>
class Collector final : public http::basic_parser<IsRequest> {
public:
    explicit Collector(Http1Parser& target) : target_(target) {}

    /// Whether the line of a chunk comes next, or the trailers.
    bool awaits_chunk() const { return this->is_header_done() && this->chunked() && left_of_chunk_ == 0; }

private:
    void on_request_impl(http::verb, BeastView method, BeastView target, int version, error_code&) override {
        target_.head.method.assign(method.data(), method.size());
        target_.head.target.assign(target.data(), target.size());
        target_.head.is_http10 = version == 10;
    }
    void on_response_impl(int code, BeastView, int version, error_code&) override {
        target_.head.code = code;
        target_.head.is_http10 = version == 10;
    }
    void on_field_impl(http::field, BeastView name, BeastView value, error_code&) override {
        if (this->is_header_done()) return;  // trailers
        target_.head.headers.add(to_lower(std::string_view(name.data(), name.size())), std::string(value.data(), value.size()));
    }
    void on_header_impl(error_code& error) override {
        target_.head.keep_alive = this->keep_alive();
        // Any other coding would leave the end of the body to guessing, which is how requests are smuggled.
        if (target_.head.headers.has("transfer-encoding") && !this->chunked()) error = http::error::bad_transfer_encoding;
    }
    void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
        constexpr std::uint64_t LargestReserve = 1 << 20;
        if (length) target_.body.reserve(std::min(*length, LargestReserve));
    }
    std::size_t on_body_impl(BeastView bytes, error_code&) override {
        target_.body.append(bytes.data(), bytes.size());
        return bytes.size();
    }
    void on_chunk_header_impl(std::uint64_t size, BeastView, error_code&) override { left_of_chunk_ = size; }
    std::size_t on_chunk_body_impl(std::uint64_t left, BeastView bytes, error_code&) override {
        left_of_chunk_ = left - bytes.size();
        target_.body.append(bytes.data(), bytes.size());
        return bytes.size();
    }
    void on_finish_impl(error_code&) override {}

    Http1Parser& target_;
    std::uint64_t left_of_chunk_ = 0;  ///< bytes
};

template <bool IsRequest>
class BeastParser final : public Http1Parser {
public:
    BeastParser(const Http1Limits& limits, bool no_body) : beast_(*this), header_limit_(limits.header_limit) {
        beast_.header_limit(limits.header_limit);
        beast_.body_limit(limits.body_limit);
        if (no_body) beast_.skip(true);
    }

    Result<std::size_t> feed(std::string_view bytes) override {
        std::size_t taken = 0;
        while (!beast_.is_done() && taken < bytes.size()) {
            const std::string_view rest = bytes.substr(taken);
            if (beast_.awaits_chunk() && rest.size() < SmallestEnd.size()) break;
            const bool had_head = beast_.is_header_done();
            error_code error;
            taken += put(rest, error);
            if (error == http::error::need_more && had_head && rest.size() > header_limit_) error = http::error::header_limit;
            if (error == http::error::need_more) break;
            if (error) return failure(error);
            if (!had_head && beast_.is_header_done()) {
                TRY_VOID(check_head());
                break;
            }
        }
        return taken;
    }
    Result<void> feed_end() override {
        error_code error = http::error::partial_message;
        if (beast_.got_some()) beast_.put_eof(error);
        if (error) return failure(error);
        return {};
    }
    bool head_done() const override { return beast_.is_header_done(); }
    bool done() const override { return beast_.is_done(); }
    int failure_code() const override { return failure_code_; }

private:
    /// With fewer bytes than the shortest end of a chunked body, Beast 1.81 fails an assertion (boostorg/beast#2861).
    static constexpr std::string_view SmallestEnd = "0\r\n\r\n";

    std::size_t put(std::string_view bytes, error_code& error) {
        try {
            return beast_.put({bytes.data(), bytes.size()}, error);
        } catch (const std::logic_error&) {  // another assertion, see beast_impl.cc
            error = http::error::bad_chunk;
            return 0;
        }
    }

    Result<void> check_head() {
        if (!IsRequest) return {};
        if (!head.is_http10 && head.headers.all("host").size() != 1) {
            return Error(Reason::BadRequest, "an HTTP/1.1 request needs one Host header");
        }
        head.wants_continue = !head.is_http10 && to_lower(head.headers.get("expect")) == "100-continue";
        return {};
    }
    Error failure(const error_code& error) {
        if (error == http::error::body_limit) failure_code_ = 413;
        if (error == http::error::header_limit) failure_code_ = 431;
        if (error == http::error::bad_version) failure_code_ = 505;
        return Error(Reason::BadRequest, "malformed HTTP message: " + error.message());
    }

    Collector<IsRequest> beast_;
    std::size_t header_limit_;
    int failure_code_ = 400;
};

void append_fields(std::string& head, const Headers& headers) {
    for (const auto& [name, value] : headers.fields()) {
        const std::size_t start = head.size();
        head.append(name).append(": ").append(value);
        std::replace_if(
            head.begin() + static_cast<std::ptrdiff_t>(start), head.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
        head += "\r\n";
    }
    head += "\r\n";
}

}  // namespace

std::unique_ptr<Http1Parser> Http1Parser::for_request(const Http1Limits& limits) {
    return std::make_unique<BeastParser<true>>(limits, false);
}

std::unique_ptr<Http1Parser> Http1Parser::for_response(const Http1Limits& limits, bool no_body) {
    return std::make_unique<BeastParser<false>>(limits, no_body);
}

std::string http1_response_head(int code, const Headers& headers) {
    std::string head = "HTTP/1.1 " + std::to_string(code) + " ";
    head.append(reason_phrase(code)).append("\r\n");
    append_fields(head, headers);
    return head;
}

std::string http1_request_head(std::string_view method, std::string_view target, const Headers& headers) {
    std::string head(method);
    head.append(" ").append(target).append(" HTTP/1.1\r\n");
    append_fields(head, headers);
    return head;
}

}  // namespace porthole::net
