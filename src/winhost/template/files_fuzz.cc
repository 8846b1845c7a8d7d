// Registry files and executables of Wine: whatever they hold, they are edited or refused.
#include <cstdint>
#include <cstdlib>

#include "winhost/template/error_texts.h"
#include "winhost/template/pe_exports.h"
#include "winhost/template/pe_image.h"
#include "winhost/template/registry_file.h"

using namespace porthole::winhost;

namespace {

void registry(std::string_view text) {
    auto file = RegistryFile::parse(text);
    if (!file) return;
    file->set("Software\\A", "name", RegistryFile::quoted("a\"b\\c"));
    const auto again = RegistryFile::parse(file->text());
    if (!again || again->value("software\\a", "NAME") != RegistryFile::quoted("a\"b\\c")) std::abort();
    file->remove_tree("Software");
    if (!file->value("Software\\A", "name").empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    registry(text);
    if (const auto stripped = strip_debug_sections(text); stripped && stripped->size() > text.size()) std::abort();
    std::string image = text;
    correct_default_control_handler(image);
    limit_stack_clearing(image);
    if (image.size() != text.size()) std::abort();
    if (!use_windows_error_texts(image) && image.size() != text.size()) std::abort();
    constexpr std::string_view Names[] = {"A", "VirtualAllocEx"};
    if (const auto forwarded = forward_exports(text, Names, "other"); forwarded && forwarded->size() < text.size()) std::abort();
    return 0;
}
