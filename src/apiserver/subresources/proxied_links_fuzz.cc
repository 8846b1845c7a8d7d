// Pages that pods answer: what leads through the proxy once is not led through it again.
#include <cstdint>
#include <cstdlib>

#include "apiserver/subresources/proxied_links.h"

using namespace porthole::apiserver;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const ProxiedPage page{"/proxy", "10.0.0.1:80", "localhost"};
    const std::string once = with_proxied_links(std::string_view(reinterpret_cast<const char*>(data), size), page);
    if (with_proxied_links(once, page) != once) std::abort();
    return 0;
}
