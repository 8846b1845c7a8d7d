// The keys file that is given to `porthole restore`: what is taken names files of a control plane only, is written and read again the
// same, and is not taken with another digest.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "local_cluster/control_plane/keys_file.h"

using porthole::local_cluster::KeysFile;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto keys = KeysFile::parse({reinterpret_cast<const char*>(data), size});
    if (!keys) return 0;
    for (const auto& [name, content] : keys->files)
        if (name.contains("..") && name.find_first_of('/', 4) != name.npos) std::abort();
    std::string text = keys->text();
    if (text.size() > KeysFile::Largest) return 0;
    const auto again = KeysFile::parse(text);
    if (!again || *again != *keys) std::abort();
    char& digit = text.at(text.find("\"sha256\":\"") + 20);
    digit = digit == '0' ? '1' : '0';
    if (KeysFile::parse(text)) std::abort();
    return 0;
}
