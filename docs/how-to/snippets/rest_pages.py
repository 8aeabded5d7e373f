import httpx2

with httpx2.Client(base_url="http://127.0.0.1:8000") as web:
    page = "/entities/meg-ryan/relations?direction=out&limit=2"
    while page:
        answer = web.get(page)
        print([edge["object"] for edge in answer.json()["relations"]])
        following = answer.json().get("next")
        page = answer.url.join(following) if following else None
