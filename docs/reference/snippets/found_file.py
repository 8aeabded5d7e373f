from typing import Annotated

from pydantic import SecretStr

from bfsql.settings import BackendSettings, Env, FoundFile


class NotebookSettings(BackendSettings):
    found_file = FoundFile(
        "url password name_field", credentials={"password": "url", "NOTEBOOK_COOKIE": "url"}
    )

    url: str
    password: Annotated[SecretStr | None, Env("NOTEBOOK_PASSWORD")] = None
    name_field: str = "name"
    formatter: str | None = None
