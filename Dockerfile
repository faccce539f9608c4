# affine_server and the default model. `docker build .` makes the last stage, `cpu`.
ARG DEBIAN=debian:bookworm-slim
# The CUDA release that LibTorch's cudart 13.0.96 belongs to; there is no image of it on Debian.
ARG CUDA=nvidia/cuda:13.0.2-devel-ubuntu24.04

FROM ${DEBIAN} AS build
WORKDIR /src
COPY deploy/debian-packages.txt deploy/requirements-libtorch.txt deploy/requirements-xgrammar.txt deploy/
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       $(sed 's/#.*//' deploy/debian-packages.txt) \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --no-deps -r deploy/requirements-libtorch.txt \
    && /opt/venv/bin/pip download --no-cache-dir --no-deps --no-binary xgrammar -d /opt/venv/sources \
       -r deploy/requirements-xgrammar.txt
# The libraries of the wheels that the server loads, and no others: libtorch_cuda.so alone is large.
RUN packages=$(echo /opt/venv/lib/python3*/site-packages) \
    && mkdir -p /opt/affine/lib \
    && cp -L "$packages"/torch/lib/libtorch_cpu.so "$packages"/torch/lib/libc10.so \
       "$packages"/torch/lib/libgomp.so.1 "$packages"/nvidia/cu13/lib/libcupti.so.13 \
       "$packages"/nvidia/cu13/lib/libcudart.so.13 /opt/affine/lib/
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY proto proto
COPY model model
COPY server server
COPY clients clients
RUN cmake --preset release -B /build -DAFFINE_TESTS=OFF \
      -DLIBTORCH="$(echo /opt/venv/lib/python3*/site-packages/torch)" \
      -DXGRAMMAR_ARCHIVE="$(echo /opt/venv/sources/xgrammar-*.tar.gz)" \
    && cmake --build /build --target affine_server

FROM ${DEBIAN} AS model
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       ca-certificates python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY deploy/setup.sh deploy/requirements.txt deploy/
COPY model/convert model/convert
RUN AFFINE_VENV=/opt/venv AFFINE_MODELS=/models \
    bash -euo pipefail -c 'source deploy/setup.sh; make_venv; default_models'

# For the CUDA kernels. Until there are any, cmake refuses AFFINE_CUDA and this stage does not build.
FROM ${CUDA} AS cuda
WORKDIR /src
COPY deploy/debian-packages.txt deploy/requirements-libtorch.txt deploy/requirements-xgrammar.txt deploy/
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       $(sed 's/#.*//' deploy/debian-packages.txt) \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --no-deps -r deploy/requirements-libtorch.txt \
    && /opt/venv/bin/pip download --no-cache-dir --no-deps --no-binary xgrammar -d /opt/venv/sources \
       -r deploy/requirements-xgrammar.txt
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY proto proto
COPY model model
COPY server server
COPY clients clients
RUN cmake --preset release -B /build -DAFFINE_TESTS=OFF -DAFFINE_CUDA=ON \
      -DLIBTORCH="$(echo /opt/venv/lib/python3*/site-packages/torch)" \
      -DXGRAMMAR_ARCHIVE="$(echo /opt/venv/sources/xgrammar-*.tar.gz)" \
    && cmake --build /build --target affine_server \
    && cp /build/server/app/affine_server /usr/local/bin/
COPY --from=model /models/smollm2-135m-instruct-affine /models/smollm2-135m-instruct-affine
USER 65532:65532
EXPOSE 8000
STOPSIGNAL SIGTERM
ENTRYPOINT ["affine_server"]
CMD ["--host=0.0.0.0", "--device=cuda", "--model=/models/smollm2-135m-instruct-affine"]

FROM ${DEBIAN} AS cpu
# What affine_server links directly; their own dependencies (c-ares, RE2, OpenSSL) follow.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       libabsl20220623 libfmt9 libgrpc++1.51 libgrpc29 libpcre2-8-0 libprometheus-cpp-core1.0 \
       libprotobuf32 libspdlog1.10 libstdc++6 libutf8proc2 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/affine/lib /opt/affine/lib
# The program's own search path names folders of the build stage, so the loader's does it here.
RUN echo /opt/affine/lib > /etc/ld.so.conf.d/affine.conf && ldconfig
COPY --from=model /models/smollm2-135m-instruct-affine /models/smollm2-135m-instruct-affine
COPY --from=build /build/server/app/affine_server /usr/local/bin/affine_server
# The build fails here if a library is missing.
RUN affine_server --version
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=unknown
ARG SOURCE=unknown
# An argument from before the first FROM is seen in a stage once it is named there.
ARG DEBIAN
LABEL org.opencontainers.image.title="affine-serve" \
      org.opencontainers.image.description="Serves language models with affine attention over gRPC and HTTP" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${DEBIAN}"
# Writes nothing to its root, so it runs with --read-only.
USER 65532:65532
EXPOSE 8000
STOPSIGNAL SIGTERM
ENTRYPOINT ["affine_server"]
CMD ["--host=0.0.0.0", "--model=/models/smollm2-135m-instruct-affine"]
