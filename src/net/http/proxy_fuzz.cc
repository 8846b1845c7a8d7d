// A proxy, exceptions from it and a host, a line each.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "net/http/proxy.h"

/// Whatever the variables say, this machine's own servers are reached directly, and "*" keeps every server from the proxy.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole::net;
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    const auto line = [&] {
        const std::string_view text = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), text.size() + 1));
        return text;
    };
    const std::string_view proxy = line(), exceptions = line();
    const std::string host(line());
    const ProxySettings settings(proxy, proxy, exceptions);
    for (const char* own : {"localhost", "127.0.0.1", "::1"}) CHECK(!settings.find(true, own, 443));
    const auto found = settings.find(true, host, 443);
    CHECK(found == settings.find(false, host, 443));
    if (found) CHECK(!found->host.empty() && found->port != 0 && found->to_string().find('\r') == std::string::npos);
    const std::string all = add_exceptions(exceptions, {"*"});
    CHECK(!ProxySettings(proxy, proxy, all).find(true, host, 443));
    CHECK(add_exceptions(all, {"*"}) == all);
    return 0;
}
