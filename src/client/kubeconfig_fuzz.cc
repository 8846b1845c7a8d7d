#include <cstddef>
#include <cstdint>
#include <string_view>

#include "client/kubeconfig.h"

/// Whatever is read can be written and read again, and answers every question.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole::client;
    auto config = Kubeconfig::parse(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!config) return 0;
    config->set_entry({.name = "porthole", .server = "https://127.0.0.1:6443"});
    CHECK(config->current_context() == "porthole");
    auto again = Kubeconfig::parse(config->text());
    CHECK(again.has_value());
    CHECK(again->contexts() == config->contexts());
    return 0;
}
