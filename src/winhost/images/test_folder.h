#pragma once  // for tests
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace porthole::winhost {

/// A temporary directory, removed when destroyed.
class TestFolder {
public:
    TestFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "winhost-images-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    TestFolder(const TestFolder&) = delete;
    ~TestFolder() { std::filesystem::remove_all(path_); }

    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    void write(const std::string& name, const std::string& content) const {
        std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
        std::ofstream(*this / name, std::ios::binary) << content;
    }
    std::string read(const std::string& name) const { return read_file(*this / name); }
    static std::string read_file(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

private:
    std::string path_;
};

}  // namespace porthole::winhost
