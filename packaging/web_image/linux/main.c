/* One static program for the three names that the Linux image has (make_images.py links them): a C library in each would be most of it. */
#include <stdio.h>
#include <string.h>

int web_main(int count, char** words);
int fetch_main(int count, char** words);
int check_main(int count, char** words);

int main(int count, char** words) {
    const char* slash = strrchr(words[0], '/');
    const char* name = slash ? slash + 1 : words[0];
    if (strcmp(name, "fetch") == 0) return fetch_main(count, words);
    if (strcmp(name, "check") == 0) return check_main(count, words);
    return web_main(count, words);
}
