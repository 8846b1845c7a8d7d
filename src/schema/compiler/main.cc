// schemac OUT_DIR FILE...: makes C++ of the schema text. The order of the files is the order of discovery.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "schema/compiler/checker.h"
#include "schema/compiler/names.h"
#include "schema/compiler/struct_writer.h"
#include "schema/compiler/table_writer.h"

namespace {

using namespace porthole::schemac;

bool read_file(const std::string& path, std::string& text) {
    std::ifstream stream(path);
    std::stringstream content;
    content << stream.rdbuf();
    text = content.str();
    return stream.good() || stream.eof();
}

/// Leaves a file alone that would not change, so that nothing is compiled again for it.
bool write_file(const std::filesystem::path& path, const std::string& text) {
    std::string before;
    if (std::filesystem::exists(path) && read_file(path, before) && before == text) return true;
    std::ofstream stream(path);
    stream << text;
    return stream.good();
}

constexpr const char* RegistryHeader =
    "// Made by schemac.\n#pragma once\n#include <span>\n\n#include \"schema/registry.h\"\n\nnamespace porthole::api {\n\n"
    "/// Every built-in kind, in the order of discovery.\nstd::span<const schema::Kind* const> kinds();\n"
    "const schema::Registry& registry();\n\n}  // namespace porthole::api\n";

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::cerr << "usage: schemac OUT_DIR FILE...\n";
        return 2;
    }
    Diagnostics diagnostics;
    std::vector<std::unique_ptr<Package>> packages;
    for (int i = 2; i < argc; ++i) {
        std::string text;
        if (!read_file(argv[i], text)) {
            std::cerr << argv[i] << ": cannot be read\n";
            return 1;
        }
        const std::filesystem::path path(argv[i]);
        packages.push_back(parse_package("api/" + path.filename().string(), text, diagnostics));
    }
    check(packages, diagnostics);
    for (const std::string& line : diagnostics.lines()) std::cerr << line << "\n";
    if (!diagnostics.empty()) return 1;

    const std::filesystem::path folder = std::filesystem::path(argv[1]) / "api";
    std::filesystem::create_directories(folder);
    bool written = write_file(folder / "registry.h", RegistryHeader) && write_file(folder / "registry.cc", write_registry(packages));
    for (const auto& package : packages) {
        written = written && write_file(folder / (package_file(*package) + ".h"), write_structs(*package)) &&
                  write_file(folder / (package_file(*package) + ".cc"), write_tables(*package));
    }
    if (!written) std::cerr << folder << ": cannot be written\n";
    return written ? 0 : 1;
}
