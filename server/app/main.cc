// affine_server: reads flags, makes the parts, runs the app.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "model/chat_template.h"
#include "model/model_loader.h"
#include "model/tokenizer.h"
#include "server/app/program.h"
#include "server/grammar/xgrammar/xgrammar_compiler.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const affine::ModelLoaders loaders{affine::LoadTokenizer, affine::LoadLanguageModel,
                                     affine::LoadChatTemplate, affine::MakeXGrammarCompiler};
  affine::Program program(AFFINE_VERSION, loaders, std::cout);
  return program.Main(arguments, affine::ReadProcessEnvironment(environ));
}
